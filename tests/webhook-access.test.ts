import type { Webhook } from "@board/core/webhook/webhook";
import { afterAll, beforeAll, expect, test } from "vitest";
import { addBoard } from "./support/board.ts";
import { createWebhook, deposit } from "./support/webhook.ts";
import { createWorld, type Person, type Tenant, type World } from "./support/world.ts";

let world: World;
let home: Tenant;
let abroad: Tenant;
let webhook: Webhook;
let payload: string;
let neighbour: { board_id: string; agent: { id: string; token: string } };
let people: Record<"reader" | "writer" | "nobody", Person>;

beforeAll(async () => {
  world = await createWorld();
  home = await world.tenant("home");
  abroad = await world.tenant("abroad");
  neighbour = await addBoard(world, home);
  webhook = await createWebhook(world, home);
  payload = `${webhook.endpoint_path}/payloads/${await deposit(world, webhook)}`;
  const join = async (subject: string, flags: { read?: boolean; write?: boolean }) => {
    const person = await world.person(subject);
    await world.join(person, home.organization_id, "member", flags);
    return person;
  };
  people = {
    reader: await join("reader", { read: true }),
    writer: await join("writer", { write: true }),
    nobody: await join("nobody", {}),
  };
});
afterAll(() => world.close());

const all = () => `/api/v1/boards/${home.board_id}/webhooks`;
/** What shows a payload or a webhook, and what shows how to post or changes it. */
const reads = () =>
  [webhook.endpoint_path, `${webhook.endpoint_path}/payloads`, payload].map((path) => ["GET", path, undefined] as const);
const writes = () =>
  [
    ["GET", all(), undefined],
    ["POST", all(), { description: "d" }],
    ["PATCH", webhook.endpoint_path, {}],
    ["DELETE", webhook.endpoint_path, undefined],
  ] as const;
const bad = () =>
  [
    ["POST", all(), { description: 5 }],
    ["PATCH", webhook.endpoint_path, { description: null }],
    ["GET", `${all()}?limit=0`, undefined],
  ] as const;

test("who may write to the board does everything", async () => {
  const { token } = people.writer;
  for (const [method, path] of reads()) expect((await world.call(method, path, { token })).status, path).toBe(200);
  const made = (await world.call("POST", all(), { token, body: { description: "theirs" } })).body;
  expect((await world.call("PATCH", made.endpoint_path, { token, body: { enabled: false } })).status).toBe(200);
  expect((await world.call("DELETE", made.endpoint_path, { token })).status).toBe(200);
});

test("who may only read the board reads a webhook and its payloads, and is refused the rest before the input is judged", async () => {
  const { token } = people.reader;
  for (const [method, path] of reads()) expect((await world.call(method, path, { token })).status, path).toBe(200);
  for (const [method, path, body] of [...writes(), ...bad()]) {
    const refused = await world.call(method, path, { token, body });
    expect([refused.status, refused.body], `${method} ${path}`).toEqual([403, { detail: "Board access denied" }]);
  }
});

test("for a member without grants and for other tenants the board does not exist", async () => {
  for (const { token } of [people.nobody, abroad.owner])
    for (const [method, path, body] of [...reads(), ...writes(), ...bad()]) {
      const missed = await world.call(method, path, { token, body });
      expect([missed.status, missed.body], `${method} ${path}`).toEqual([404, { detail: "Not Found" }]);
    }
});

test("an agent of the board reads, by both of the addresses of a payload", async () => {
  for (const agent of [home.lead.token, home.worker.token]) {
    for (const [method, path] of reads()) expect((await world.call(method, path, { agent })).status, path).toBe(200);
    const own = await world.call("GET", payload.replace("/api/v1/", "/api/v1/agent/"), { agent });
    expect(own.body).toEqual((await world.call("GET", payload, { token: home.owner.token })).body);
  }
});

test("an agent never manages webhooks", async () => {
  for (const [method, path, body] of writes())
    expect((await world.call(method, path, { agent: home.lead.token, body })).status, `${method} ${path}`).toBe(401);
});

test("an agent of another board is refused, one of another organization finds nothing", async () => {
  const paths = [...reads().map(([, path]) => path), payload.replace("/api/v1/", "/api/v1/agent/")];
  for (const path of [...paths, `${paths[1]}?limit=0`, `${paths[3]}?max_chars=0`]) {
    const refused = await world.call("GET", path, { agent: neighbour.agent.token });
    const detail = { code: "forbidden", message: "Board access denied" };
    expect([refused.status, refused.body], path).toEqual([403, { detail, code: "forbidden", retryable: false }]);
    const missed = await world.call("GET", path, { agent: abroad.worker.token });
    expect([missed.status, missed.body], path).toEqual([404, { detail: "Not Found" }]);
  }
});

test("the agents' address of a payload is for agents alone", async () => {
  const refused = await world.call("GET", payload.replace("/api/v1/", "/api/v1/agent/"), { token: home.owner.token });
  expect([refused.status, refused.body]).toEqual([401, { detail: "Not authenticated" }]);
});

test("without a credential nothing is shown", async () => {
  for (const [method, path, body] of [...reads(), ...writes(), ...bad()])
    expect((await world.call(method, path, { body })).status, `${method} ${path}`).toBe(401);
});

test("a webhook or payload under another board or webhook than its own does not exist", async () => {
  const other = await createWebhook(world, home);
  const payload_id = payload.split("/").at(-1)!;
  const { token } = home.owner;
  for (const path of [
    `/api/v1/boards/${neighbour.board_id}/webhooks/${webhook.id}`,
    `/api/v1/boards/${neighbour.board_id}/webhooks/${webhook.id}/payloads`,
    `/api/v1/boards/${neighbour.board_id}/webhooks/${webhook.id}/payloads/${payload_id}`,
    `${other.endpoint_path}/payloads/${payload_id}`,
    `${webhook.endpoint_path}/payloads/${crypto.randomUUID()}`,
    `${all()}/${crypto.randomUUID()}/payloads`,
  ])
    expect((await world.call("GET", path, { token })).status, path).toBe(404);
  for (const method of ["PATCH", "DELETE"])
    expect((await world.call(method, `/api/v1/boards/${neighbour.board_id}/webhooks/${webhook.id}`, { token })).status).toBe(404);
  const misplaced = `/api/v1/agent/boards/${home.board_id}/webhooks/${other.id}/payloads/${payload_id}`;
  expect((await world.call("GET", misplaced, { agent: home.lead.token })).status).toBe(404);
});

test("a malformed id is named", async () => {
  const { token } = home.owner;
  for (const [path, name] of [
    ["/api/v1/boards/none/webhooks", "board_id"],
    [`${all()}/none`, "webhook_id"],
    [`${webhook.endpoint_path}/payloads/none`, "payload_id"],
  ] as const)
    expect((await world.call("GET", path, { token })).body.detail).toMatchObject([{ type: "uuid_parsing", loc: ["path", name] }]);
});
