import { board_group_memory, board_groups, boards, organization_board_access } from "@board/core/db/schema";
import { eq } from "drizzle-orm";
import { beforeEach, describe, expect, test } from "vitest";
import { addBoard } from "./support/board.ts";
import { addGroup, boardMemoryPath, groupMemoryPath } from "./support/group.ts";
import { tenantsOfOneWorld } from "./support/office.ts";
import { listen } from "./support/sse.ts";
import type { Tenant, World } from "./support/world.ts";

let world: World;
let home: Tenant;
/** A second board of the group, with one agent. */
let second: Awaited<ReturnType<typeof addBoard>>;
/** A board without a group. */
let alone: Awaited<ReturnType<typeof addBoard>>;
let group_id: string;

const openTenant = tenantsOfOneWorld({ streams: { poll_ms: 20 } });
beforeEach(async () => {
  ({ world, home } = await openTenant());
  second = await addBoard(world, home, "Second");
  alone = await addBoard(world, home, "Alone");
  group_id = await addGroup(world, home, "Platform", [home.board_id, second.board_id]);
});

const ofGroup = (query?: string) => groupMemoryPath(group_id, query);
const ofBoard = (id = home.board_id, query?: string) => boardMemoryPath(id, query);
const owner = () => ({ token: home.owner.token });
const say = (content: string, tags: string[] | null = ["chat"]) =>
  world.call("POST", ofGroup(), { ...owner(), body: { content, tags } });

describe("entries", () => {
  test("are the same for the group and for each of its boards, newest first", async () => {
    const made = await world.call("POST", ofGroup(), {
      ...owner(),
      body: { content: "  Freeze on Friday ", tags: ["ops"], source: " wiki " },
    });
    const { id, created_at } = made.body;
    const entry = {
      id,
      board_group_id: group_id,
      content: "Freeze on Friday",
      tags: ["ops"],
      source: "wiki",
      is_chat: false,
      created_at,
    };
    expect([made.status, made.body]).toEqual([200, entry]);
    const other = (await world.call("POST", ofBoard(), { agent: home.worker.token, body: { content: "ok" } })).body;
    expect(other).toMatchObject({ tags: null, source: null, is_chat: false });
    for (const [path, who] of [
      [ofGroup(), owner()],
      [ofBoard(), owner()],
      [ofBoard(second.board_id), { agent: second.agent.token }],
    ] as const)
      expect((await world.call("GET", path, who)).body).toEqual({ items: [other, entry], total: 2, limit: 50, offset: 0 });
  });

  test("are listed by page, chat and notes together or apart", async () => {
    const at = (minute: number) => new Date(Date.UTC(2026, 0, 1, 0, minute));
    const rows = [1, 2, 3].map((minute) => ({
      board_group_id: group_id,
      content: `${minute}`,
      is_chat: minute === 2,
      created_at: at(minute),
    }));
    await world.db.insert(board_group_memory).values(rows);
    const contents = async (path: string) =>
      (await world.call("GET", path, owner())).body.items.map((entry: { content: string }) => entry.content);
    for (const path of [ofGroup, (query: string) => ofBoard(home.board_id, query)]) {
      expect(await contents(path(""))).toEqual(["3", "2", "1"]);
      expect(await contents(path("?is_chat=true"))).toEqual(["2"]);
      expect(await contents(path("?is_chat=no"))).toEqual(["3", "1"]);
      expect((await world.call("GET", path("?limit=1&offset=1"), owner())).body).toMatchObject({
        items: [{ content: "2" }],
        total: 3,
      });
    }
  });

  test.each([
    [{}, ["body", "content"]],
    [{ content: " " }, ["body", "content"]],
    [{ content: 5 }, ["body", "content"]],
    [{ content: "x", tags: "chat" }, ["body", "tags"]],
    [{ content: "x", tags: [null] }, ["body", "tags", 0]],
    [{ content: "x", source: 5 }, ["body", "source"]],
    [{ content: "x".repeat(100_001) }, ["body", "content"]],
  ])("that do not fit are refused: %j", async (body, loc) => {
    for (const path of [ofGroup(), ofBoard()]) {
      const refused = await world.call("POST", path, { ...owner(), body });
      expect([refused.status, refused.body.detail[0].loc]).toEqual([422, loc]);
    }
  });

  test("of a board without a group do not exist", async () => {
    expect((await world.call("GET", ofBoard(alone.board_id, "?limit=7&offset=3"), owner())).body).toEqual({
      items: [],
      total: 0,
      limit: 7,
      offset: 3,
    });
    const refused = await world.call("POST", ofBoard(alone.board_id), { ...owner(), body: { content: "x" } });
    expect([refused.status, refused.body]).toEqual([422, { detail: "Board is not in a board group" }]);
  });
});

describe("access", () => {
  test("to the group takes a right to one of its boards, to write as to read", async () => {
    const person = await world.person(`member of ${home.owner.subject}`);
    const member_id = await world.join(person, home.organization_id, "member");
    const { token } = person;
    const attempt = async () => [
      (await world.call("GET", ofGroup(), { token })).status,
      (await world.call("POST", ofGroup(), { token, body: { content: "x" } })).status,
      (await world.call("GET", ofBoard(), { token })).status,
      (await world.call("POST", ofBoard(), { token, body: { content: "x" } })).status,
    ];
    expect(await attempt()).toEqual([404, 404, 404, 404]);
    const grant = { organization_member_id: member_id, can_read: true, can_write: false };
    await world.db.insert(organization_board_access).values({ ...grant, board_id: second.board_id });
    expect(await attempt()).toEqual([200, 403, 404, 404]);
    await world.db.insert(organization_board_access).values({ ...grant, board_id: home.board_id, can_write: true });
    expect(await attempt()).toEqual([200, 200, 200, 200]);
  });

  test("is nobody's in another organization, and agents have theirs through their board", async () => {
    const abroad = await world.tenant(`abroad of ${home.owner.subject}`);
    expect((await world.call("GET", ofGroup(), { token: abroad.owner.token })).status).toBe(404);
    expect((await world.call("GET", ofGroup(), { agent: home.lead.token })).status).toBe(401);
    expect((await world.call("GET", ofBoard(second.board_id), { agent: home.lead.token })).status).toBe(403);
    expect((await world.call("GET", ofBoard(), { agent: abroad.lead.token })).status).toBe(404);
  });
});

describe("the stream", () => {
  const follow = (path: string, who: { token?: string; agent?: string } = owner()) =>
    listen((target, init) => world.app.request(target, init), path, who);
  const contents = (listener: Awaited<ReturnType<typeof follow>>) =>
    listener.events().map(({ event, data }) => [event, data.memory.content]);

  test("of the group and of its boards shows new entries as they are listed", async () => {
    const listeners = [
      await follow(ofGroup("/stream")),
      await follow(ofBoard(home.board_id, "/stream")),
      await follow(ofBoard(second.board_id, "/stream"), { agent: second.agent.token }),
    ];
    const chat = await follow(ofGroup("/stream?is_chat=true"));
    const note = (await say("note", null)).body;
    await say("chat");
    for (const listener of listeners) {
      expect((await listener.receives(2))[0]!.data).toEqual({ memory: note });
      expect(contents(listener)).toEqual([
        ["memory", "note"],
        ["memory", "chat"],
      ]);
    }
    await chat.receives(1);
    expect(contents(chat)).toEqual([["memory", "chat"]]);
    await Promise.all([...listeners, chat].map((listener) => listener.close()));
  });

  test("of a board is silent without a group, and follows the board into one, into another and out of it", async () => {
    const other_id = await addGroup(world, home, "Other", []);
    const listener = await follow(ofBoard(alone.board_id, "/stream"));
    const write = async (id: string, content: string) => {
      await new Promise((done) => setTimeout(done, 150));
      await world.db.insert(board_group_memory).values({ board_group_id: id, content });
      await new Promise((done) => setTimeout(done, 150));
    };
    const move = (board_group_id: string | null) =>
      world.db.update(boards).set({ board_group_id }).where(eq(boards.id, alone.board_id));
    await write(group_id, "before");
    await move(group_id);
    await write(group_id, "in the first");
    await move(other_id);
    await write(group_id, "after it left");
    await write(other_id, "in the second");
    await move(null);
    await write(other_id, "after all");
    expect([contents(listener), listener.ended]).toEqual([
      [
        ["memory", "in the first"],
        ["memory", "in the second"],
      ],
      false,
    ]);
    await listener.close();
  });

  test("of a deleted group ends", async () => {
    const listener = await follow(ofGroup("/stream"));
    await world.db.delete(board_groups).where(eq(board_groups.id, group_id));
    expect(await listener.ends()).toBe(true);
  });
});

test("agents are told when to use the three operations of their board", async () => {
  const { paths } = (await world.call("GET", "/openapi.json")).body;
  const ofBoards = paths["/api/v1/boards/{board_id}/group-memory"];
  const operations = [ofBoards.get, ofBoards.post, paths["/api/v1/boards/{board_id}/group-memory/stream"].get];
  expect(operations.map((operation) => operation["x-llm-intent"])).toEqual([
    "agent_board_group_memory_discovery",
    "agent_board_group_memory_record",
    "agent_board_group_memory_stream",
  ]);
  for (const operation of operations) {
    expect(operation.tags).toEqual(["agent", "agent-lead", "agent-worker", "agent-board"]);
    expect(operation["x-required-actor"]).toBe("any_agent");
  }
  expect(Object.keys(operations[2].responses["200"].content)).toEqual(["text/event-stream"]);
});
