import { describe, expect, test } from "vitest";
import { setupWorld } from "../support/fixtures.ts";

const MAX_BYTES = 1_048_576;
const TOO_LARGE = { detail: `Payload exceeds maximum size of ${MAX_BYTES} bytes.` };

const world = await setupWorld();
const home = await world.tenant("home");
const abroad = await world.tenant("abroad");
const member = await world.member("member", home);
const reader = await world.member("reader", home, "admin", { read: true });

/** Returns a body that records whether it was read. */
function trackedBody() {
  const state = { read: false };
  const body = new ReadableStream(
    {
      pull(controller) {
        state.read = true;
        controller.close();
      },
    },
    { highWaterMark: 0 },
  );
  return { state, body };
}

test("a body is read only after the credential and the role have been checked", async () => {
  const cases: [string, string, Record<string, string>, number, boolean][] = [
    ["POST", "/api/v1/boards", {}, 401, false],
    ["POST", "/api/v1/boards", { authorization: "Bearer wrong" }, 401, false],
    ["POST", "/api/v1/agents", { "x-agent-token": "wrong" }, 401, false],
    ["POST", "/api/v1/boards", { authorization: `Bearer ${member.token}` }, 403, false],
    ["POST", "/api/v1/agents", { "x-agent-token": home.worker.token }, 403, false],
    ["PATCH", "/api/v1/boards/board", { authorization: `Bearer ${home.owner.token}` }, 422, false],
    ["POST", "/api/v1/boards", { authorization: `Bearer ${home.owner.token}` }, 422, true],
  ];
  for (const [method, path, headers, status, read] of cases) {
    const { state, body } = trackedBody();
    const answer = await world.app.request(path, { method, headers, body, duplex: "half" } as RequestInit);
    expect([path, answer.status, state.read]).toEqual([path, status, read]);
  }
});

test("a role that does not depend on the path is checked before the path", async () => {
  for (const [method, path] of [
    ["GET", "/api/v1/gateways/no-id"],
    ["PATCH", `/api/v1/gateways/${abroad.gateway_id}`],
    ["DELETE", "/api/tags/no-id"],
    ["GET", "/api/v1/agents?limit=0"],
  ] as const) {
    const answer = await world.call(method, path, { token: member.token, ...(method === "PATCH" ? { raw: "{broken" } : {}) });
    expect([answer.status, answer.body], path).toEqual([403, { detail: "Forbidden" }]);
  }
  const agent = await world.call("POST", "/api/v1/agents", { agent: home.worker.token, raw: "{broken" });
  expect([agent.status, agent.body]).toEqual([
    403,
    {
      detail: { code: "forbidden", message: "Only board leads can perform this action" },
      code: "forbidden",
      retryable: false,
    },
  ]);
});

test("a malformed id in the path is reported before problems of the query and the body", async () => {
  for (const [method, path] of [
    ["PATCH", "/api/v1/boards/no-id"],
    ["GET", "/api/v1/boards/no-id/memory?limit=0"],
    ["POST", "/api/v1/boards/no-id/memory"],
  ] as const) {
    const raw = method === "GET" ? {} : { raw: "{broken" };
    const answer = await world.call(method, path, { token: home.owner.token, ...raw });
    expect([answer.status, answer.body.detail]).toMatchObject([422, [{ type: "uuid_parsing", loc: ["path", "board_id"] }]]);
  }
});

const bodies: [string, string][] = [
  ["valid", "{}"],
  ["wrongly typed", '{"name": 5, "description": 5, "content": 5}'],
  ["broken", "{broken"],
  ["unstorable", '{"name": "\\u0000"}'],
  ["too large", " ".repeat(MAX_BYTES + 1)],
];

describe.each(bodies)("the credential, the role and the resource are checked before a body that is %s", (_what, raw) => {
  test("a resource that does not exist or belongs to another organization is 404", async () => {
    const board = abroad.board_id;
    for (const [method, path] of [
      ["PATCH", `/api/v1/boards/${board}`],
      ["PATCH", `/api/v1/gateways/${abroad.gateway_id}`],
      ["PATCH", `/api/v1/tags/${board}`],
      ["POST", `/api/v1/boards/${board}/memory`],
      ["POST", `/api/v1/boards/${board}/webhooks`],
      ["PATCH", `/api/v1/boards/${home.board_id}/webhooks/${board}`],
    ] as const) {
      const answer = await world.call(method, path, { token: home.owner.token, raw });
      expect([answer.status, answer.body], path).toEqual([404, { detail: "Not Found" }]);
    }
    const agent = await world.call("POST", `/api/v1/agent/boards/${board}/memory`, { agent: home.worker.token, raw });
    expect([agent.status, agent.body]).toEqual([404, { detail: "Not Found" }]);
  });

  test("a write to a resource that the client may read but not change is 403", async () => {
    for (const [method, path] of [
      ["PATCH", `/api/v1/boards/${home.board_id}`],
      ["POST", `/api/v1/boards/${home.board_id}/memory`],
      ["POST", `/api/v1/boards/${home.board_id}/webhooks`],
    ] as const) {
      const answer = await world.call(method, path, { token: reader.token, raw });
      expect([answer.status, answer.body], path).toEqual([403, { detail: "Board access denied" }]);
    }
  });
});

test("the size of a body, announced or counted, is checked before its content", async () => {
  const post = (raw: string, headers: Record<string, string> = {}) =>
    world.call("POST", "/api/tags", { token: home.owner.token, headers, raw });
  for (const answer of [await post(" ".repeat(MAX_BYTES + 1)), await post("{}", { "content-length": String(MAX_BYTES + 1) })])
    expect([answer.status, answer.body]).toEqual([413, TOO_LARGE]);
  expect((await post(`{"name": "Just fits"}${" ".repeat(MAX_BYTES - 21)}`)).status).toBe(200);
});

test("an invalid query is 404 on another organization's board and 422 on a board of the client's organization", async () => {
  const status = async (path: string) => (await world.call("GET", path, { token: home.owner.token })).status;
  for (const query of ["limit=0", "is_chat=maybe", "key=%00"]) {
    expect(await status(`/api/v1/boards/${abroad.board_id}/memory?${query}`)).toBe(404);
    expect(await status(`/api/v1/boards/${home.board_id}/memory?${query}`)).toBe(422);
  }
});

test("a board that only the body names is looked up after the fields are validated", async () => {
  const create = (body: object) => world.call("POST", "/api/v1/agents", { token: home.owner.token, body });
  expect((await create({ board_id: abroad.board_id, name: "" })).status).toBe(422);
  expect((await create({ board_id: abroad.board_id, name: "Fine" })).status).toBe(404);
});
