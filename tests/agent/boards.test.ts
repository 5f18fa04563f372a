import { expect, test } from "vitest";
import { forbidden } from "../support/http.ts";
import { actAsMainAgent } from "../support/main-agent.ts";
import { setupWorld } from "../support/fixtures.ts";

const denied = forbidden("Board access denied");

const create = async (path: string, body: object) => (await world.call("POST", path, { token: home.owner.token, body })).body;

const world = await setupWorld();
const home = await world.tenant("home");
const main: string = (await actAsMainAgent(world, home.gateway_id)).token;
const gateway = await create("/api/v1/gateways", { name: "Other", url: "ws://127.0.0.1:9", workspace_root: "/srv" });
/** A second board on the home gateway, and one on another gateway of the organization. */
const sibling: string = (await create("/api/v1/boards", { name: "Sibling", description: "B", gateway_id: home.gateway_id })).id;
const elsewhere: string = (await create("/api/v1/boards", { name: "Elsewhere", description: "B", gateway_id: gateway.id })).id;

const get = (agent: string, path = "") => world.call("GET", `/api/v1/agent/boards${path}`, { agent });
const ids = async (agent: string, query = "") => (await get(agent, query)).body.items.map((board: { id: string }) => board.id);

test("an agent lists its own board, and a main agent lists the boards of its gateway, newest first", async () => {
  for (const { token } of [home.lead, home.worker]) expect(await ids(token)).toEqual([home.board_id]);
  expect(await ids(main)).toEqual([sibling, home.board_id]);
  expect((await get(main, "?limit=1&offset=1")).body).toMatchObject({
    items: [{ id: home.board_id }],
    total: 2,
    limit: 1,
    offset: 1,
  });
});

test("an agent gets the same fields of a board as people do, and the board's status", async () => {
  const board = (await world.call("GET", `/api/v1/boards/${home.board_id}`, { token: home.owner.token })).body;
  for (const agent of [home.worker.token, main]) {
    expect((await get(agent, `/${home.board_id}`)).body).toEqual({ ...board, status: "active" });
    expect((await get(agent)).body.items).toContainEqual({ ...board, status: "active" });
  }
});

test.each([
  ["a lead", () => home.lead.token, () => sibling],
  ["a worker", () => home.worker.token, () => elsewhere],
  ["a main agent", () => main, () => elsewhere],
])("%s cannot read another board of its organization", async (_who, agent, board) => {
  const answer = await get(agent(), `/${board()}`);
  expect([answer.status, answer.body]).toEqual([403, denied]);
});

test("a board is paused while the latest of /pause and /resume in its chat is /pause", async () => {
  const status = async () => {
    const [single, listed] = [
      (await get(home.worker.token, `/${home.board_id}`)).body,
      (await get(home.worker.token)).body.items[0],
    ];
    expect(listed.status).toBe(single.status);
    return single.status;
  };
  const write = (content: string, tags: string[] = ["chat"], board = home.board_id) =>
    world.call("POST", `/api/v1/boards/${board}/memory`, { token: home.owner.token, body: { content, tags } });

  for (const [content, tags, board, expected] of [
    ["/pause", ["note"], home.board_id, "active"],
    ["please /pause", ["chat"], home.board_id, "active"],
    ["/pause", ["chat"], sibling, "active"],
    [" /PAUSE ", ["chat", "urgent"], home.board_id, "paused"],
    ["/resume", [], home.board_id, "paused"],
    ["/resumed", ["chat"], home.board_id, "paused"],
    ["/Resume", ["chat"], home.board_id, "active"],
    ["/pause", ["chat"], home.board_id, "paused"],
    ["good morning", ["chat"], home.board_id, "paused"],
  ] as const) {
    await write(content, [...tags], board);
    expect(await status(), `${content} ${tags}`).toBe(expected);
  }
  expect((await get(main)).body.items.map((board: { status: string }) => board.status)).toEqual(["paused", "paused"]);
});
