import { expect, test } from "vitest";
import { addTask } from "../support/task.ts";
import { setupWorld } from "../support/fixtures.ts";

const world = await setupWorld();
const home = await world.tenant("home");

const STRICT = { prefer: "handling=strict" };
const send = (method: string, path: string, body?: unknown, headers: Record<string, string> = STRICT) =>
  world.call(method, path, { token: home.owner.token, headers, body });
const tasks = `/api/v1/boards/${home.board_id}/tasks`;
const unknown = (loc: (string | number)[], input: unknown) => ({
  type: "extra_forbidden",
  loc,
  msg: "Extra inputs are not permitted",
  input,
});

test("with Prefer: handling=strict an unknown body key is refused and named, and nothing is written", async () => {
  const before = (await send("GET", tasks)).body.total;
  const answer = await send("POST", tasks, { title: "Lamps", titel: "Lamps", secret_key: "hidden" });
  expect([answer.status, answer.body.detail]).toEqual([
    422,
    [unknown(["body", "titel"], "Lamps"), unknown(["body", "secret_key"], "***")],
  ]);
  expect(answer.headers.get("preference-applied")).toBe("handling=strict");
  expect((await send("GET", tasks)).body.total).toBe(before);
});

test("unknown keys are refused in addition to invalid ones", async () => {
  const answer = await send("POST", tasks, { title: 7, color: "red" });
  expect(answer.body.detail.map(({ type, loc }: { type: string; loc: unknown }) => [type, loc])).toEqual([
    ["string_type", ["body", "title"]],
    ["extra_forbidden", ["body", "color"]],
  ]);
});

test("unknown keys of nested objects and of items of arrays are refused and named with their path", async () => {
  const access = { board_id: home.board_id, can_read: true, can_wirte: true };
  const invite = { invited_email: "guest@example.com", board_access: [access, { ...access, can_write: true }] };
  const answer = await send("POST", "/api/v1/organizations/me/invites", invite);
  expect([answer.status, answer.body.detail]).toEqual([
    422,
    [unknown(["body", "board_access", 0, "can_wirte"], true), unknown(["body", "board_access", 1, "can_wirte"], true)],
  ]);
});

test("objects for free JSON may have any keys, even with handling=strict", async () => {
  const body = {
    name: "Free",
    board_id: home.board_id,
    heartbeat_config: { any: { depth: 1 } },
    identity_profile: { role: "x" },
  };
  expect((await send("POST", "/api/v1/agents", body)).status).toBe(200);
});

test("where a body can have several forms, the form that it names decides which keys are known", async () => {
  const pull = await send("POST", "/api/v1/gateways", { name: "Inbox", kind: "pull", host: "a" });
  expect([pull.status, pull.body.detail]).toEqual([422, [unknown(["body", "host"], "a")]]);
  expect((await send("POST", "/api/v1/gateways", { name: "Inbox", kind: "pull" })).status).toBe(200);
});

test("an unknown query parameter is refused and named, even by an operation without parameters", async () => {
  const list = await send("GET", `${tasks}?limit=5&stauts=done`);
  expect([list.status, list.body.detail]).toEqual([422, [unknown(["query", "stauts"], "done")]]);
  const both = await send("GET", `${tasks}?limit=0&stauts=done`);
  expect(both.body.detail.map(({ loc }: { loc: unknown }) => loc)).toEqual([
    ["query", "limit"],
    ["query", "stauts"],
  ]);
  const me = await send("GET", "/api/v1/users/me?x=1");
  expect([me.status, me.body.detail]).toEqual([422, [unknown(["query", "x"], "1")]]);
});

test("a body is refused where an operation takes none", async () => {
  const body = { status: "online" };
  const headers = { ...STRICT };
  const answer = await world.call("POST", "/api/v1/agent/heartbeat", { agent: home.worker.token, body, headers });
  expect([answer.status, answer.body.detail]).toEqual([422, [unknown(["body", "status"], "online")]]);
  expect((await world.call("POST", "/api/v1/agent/heartbeat", { agent: home.worker.token, headers })).status).toBe(200);
});

test("a valid request is answered as usual, and Preference-Applied says that the preference was followed", async () => {
  for (const prefer of ["handling=strict", 'handling="strict"', "respond-async, Handling=Strict; wait=5"]) {
    const answer = await send("GET", `${tasks}?limit=5`, undefined, { prefer });
    expect([prefer, answer.status, answer.headers.get("preference-applied")]).toEqual([prefer, 200, "handling=strict"]);
  }
});

test("without the preference, unknown keys and parameters are ignored as before", async () => {
  for (const prefer of ["handling=lenient", "handling=strictly", "x-handling=strict", ""]) {
    const answer = await send("GET", `${tasks}?stauts=done`, undefined, { prefer });
    expect([prefer, answer.status, answer.headers.get("preference-applied")]).toEqual([prefer, 200, null]);
    expect((await send("POST", tasks, { title: "Lamps", color: "red" }, { prefer })).status).toBe(200);
  }
});

test("webhooks accept any post, even with Prefer: handling=strict", async () => {
  const path = `/api/v1/boards/${home.board_id}/webhooks`;
  const { id } = (await send("POST", path, { description: "Read it" })).body;
  const answer = await world.call("POST", `${path}/${id}?any=1`, { body: { any: 1 }, headers: STRICT });
  expect([answer.status, answer.headers.get("preference-applied")]).toEqual([202, null]);
});

test("clients without access get no list of unknown keys", async () => {
  const stranger = await world.tenant("stranger");
  const task = await addTask(world, home);
  const options = { token: stranger.owner.token, headers: STRICT, body: { color: "red" } };
  expect((await world.call("PATCH", `${tasks}/${task.id}?x=1`, options)).status).toBe(404);
});

test("a body with very many unknown keys is refused with at most 1,000 problems", async () => {
  const body = Object.fromEntries(Array.from({ length: 50_000 }, (_, index) => [`key_${index}`, index]));
  const answer = await send("POST", tasks, { title: "Lamps", ...body, ["x".repeat(5_000)]: 1 });
  expect([answer.status, answer.body.detail.length]).toEqual([422, 1_000]);
});
