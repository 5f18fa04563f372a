import type { Webhook } from "@board/core/webhook/webhook";
import { afterAll, beforeAll, expect, test } from "vitest";
import { addBoard } from "../support/board.ts";
import { createWebhook, postPayload } from "../support/webhook.ts";
import { createWorld, type Person, type Tenant, type World } from "../support/world.ts";

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
  payload = `${webhook.endpoint_path}/payloads/${await postPayload(world, webhook)}`;
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
/** Requests that show a webhook or a payload, and requests that change a webhook or show how to post to it. */
const reads = () =>
  [webhook.endpoint_path, `${webhook.endpoint_path}/payloads`, payload].map((path) => ["GET", path, undefined] as const);
const writes = () =>
  [
    ["GET", all(), undefined],
    ["POST", all(), { description: "d" }],
    ["PATCH", webhook.endpoint_path, {}],
    ["POST", `${webhook.endpoint_path}/redeliver`, { status: "failed" }],
    ["POST", `${payload}/redeliver`, undefined],
    ["DELETE", webhook.endpoint_path, undefined],
  ] as const;
const invalid = () =>
  [
    ["POST", all(), { description: 5 }],
    ["PATCH", webhook.endpoint_path, { description: null }],
    ["POST", `${webhook.endpoint_path}/redeliver`, { status: "delivered" }],
    ["GET", `${all()}?limit=0`, undefined],
  ] as const;

test("a member who may write to the board may do everything with its webhooks", async () => {
  const { token } = people.writer;
  for (const [method, path] of reads()) expect((await world.call(method, path, { token })).status, path).toBe(200);
  const created = (await world.call("POST", all(), { token, body: { description: "own" } })).body;
  expect((await world.call("PATCH", created.endpoint_path, { token, body: { enabled: false } })).status).toBe(200);
  expect((await world.call("DELETE", created.endpoint_path, { token })).status).toBe(200);
});

test("a member who may only read the board reads webhooks and payloads, and is refused the rest before validation", async () => {
  const { token } = people.reader;
  for (const [method, path] of reads()) expect((await world.call(method, path, { token })).status, path).toBe(200);
  for (const [method, path, body] of [...writes(), ...invalid()]) {
    const refused = await world.call(method, path, { token, body });
    expect([refused.status, refused.body], `${method} ${path}`).toEqual([403, { detail: "Board access denied" }]);
  }
});

test("a member without access and other organizations get 404", async () => {
  for (const { token } of [people.nobody, abroad.owner])
    for (const [method, path, body] of [...reads(), ...writes(), ...invalid()]) {
      const missing = await world.call(method, path, { token, body });
      expect([missing.status, missing.body], `${method} ${path}`).toEqual([404, { detail: "Not Found" }]);
    }
});

test("an agent of the board reads webhooks and payloads, a payload under both of its paths", async () => {
  for (const agent of [home.lead.token, home.worker.token]) {
    for (const [method, path] of reads()) expect((await world.call(method, path, { agent })).status, path).toBe(200);
    const viaAgentPath = await world.call("GET", payload.replace("/api/v1/", "/api/v1/agent/"), { agent });
    expect(viaAgentPath.body).toEqual((await world.call("GET", payload, { token: home.owner.token })).body);
  }
});

test("an agent cannot create, change or delete webhooks", async () => {
  for (const [method, path, body] of writes())
    expect((await world.call(method, path, { agent: home.lead.token, body })).status, `${method} ${path}`).toBe(401);
});

test("an agent of another board gets 403, and one of another organization gets 404", async () => {
  const paths = [...reads().map(([, path]) => path), payload.replace("/api/v1/", "/api/v1/agent/")];
  for (const path of [...paths, `${paths[1]}?limit=0`, `${paths[3]}?max_chars=0`]) {
    const refused = await world.call("GET", path, { agent: neighbour.agent.token });
    const detail = { code: "forbidden", message: "Board access denied" };
    expect([refused.status, refused.body], path).toEqual([403, { detail, code: "forbidden", retryable: false }]);
    const missing = await world.call("GET", path, { agent: abroad.worker.token });
    expect([missing.status, missing.body], path).toEqual([404, { detail: "Not Found" }]);
  }
});

test("the agents' path of a payload refuses people", async () => {
  const refused = await world.call("GET", payload.replace("/api/v1/", "/api/v1/agent/"), { token: home.owner.token });
  expect([refused.status, refused.body]).toEqual([401, { detail: "Not authenticated" }]);
});

test("requests for webhooks without a credential are refused", async () => {
  for (const [method, path, body] of [...reads(), ...writes(), ...invalid()])
    expect((await world.call(method, path, { body })).status, `${method} ${path}`).toBe(401);
});

test("a webhook or payload is 404 under another board or webhook", async () => {
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

test("a malformed id in a webhook path is named in the refusal", async () => {
  const { token } = home.owner;
  for (const [path, name] of [
    ["/api/v1/boards/none/webhooks", "board_id"],
    [`${all()}/none`, "webhook_id"],
    [`${webhook.endpoint_path}/payloads/none`, "payload_id"],
  ] as const)
    expect((await world.call("GET", path, { token })).body.detail).toMatchObject([{ type: "uuid_parsing", loc: ["path", name] }]);
});
