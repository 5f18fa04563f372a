import { agents, board_groups, board_group_memory, boards, organization_board_access } from "@board/core/db/schema";
import { type FakeGateway, startFakeGateway } from "@board/local/fake-gateway/server";
import { eq } from "drizzle-orm";
import { afterAll, beforeAll, beforeEach, describe, expect, test } from "vitest";
import { addBoard } from "./support/board.ts";
import { addGroup } from "./support/group.ts";
import { listen } from "./support/sse.ts";
import { createWorld, type Tenant, type World } from "./support/world.ts";

let world: World;
let host: FakeGateway;
let home: Tenant;
/** A second board of the group, with one agent. */
let second: Awaited<ReturnType<typeof addBoard>>;
/** A board without a group. */
let alone: Awaited<ReturnType<typeof addBoard>>;
let group_id: string;

beforeAll(async () => {
  world = await createWorld({ environment: { BASE_URL: "https://board.example" }, streams: { poll_ms: 20 } });
  host = await startFakeGateway({ token: "test-token-123" });
});
afterAll(async () => {
  await world.close();
  await host.close();
});
let tenants = 0;
beforeEach(async () => {
  home = await world.tenant(`tenant ${++tenants}`, host.url);
  second = await addBoard(world, home, "Second");
  alone = await addBoard(world, home, "Alone");
  group_id = await addGroup(world, home, "Platform", [home.board_id, second.board_id]);
  await world.drain();
  host.messages.length = 0;
});

const ofGroup = (query = "", id = group_id) => `/api/v1/board-groups/${id}/memory${query}`;
const ofBoard = (id = home.board_id, query = "") => `/api/v1/boards/${id}/group-memory${query}`;
const owner = () => ({ token: home.owner.token });
const say = (content: string, tags: string[] | null = ["chat"], to = ofGroup()) =>
  world.call("POST", to, { ...owner(), body: { content, tags } });
const sayAs = (token: string, content: string, board_id: string, tags: string[] = ["chat"]) =>
  world.call("POST", ofBoard(board_id), { agent: token, body: { content, tags } });
const sessionOf = async (id: string) => (await world.db.select().from(agents).where(eq(agents.id, id)))[0]!.openclaw_session_id!;
/** Session key to the first line of what it was told. */
const told = async () => {
  await world.drain();
  return Object.fromEntries(host.messages.map(({ session_key, message }) => [session_key, message.split("\n")[0]]));
};

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
    const person = await world.person(`member ${tenants}`);
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
    const abroad = await world.tenant(`abroad ${tenants}`);
    expect((await world.call("GET", ofGroup(), { token: abroad.owner.token })).status).toBe(404);
    expect((await world.call("GET", ofGroup(), { agent: home.lead.token })).status).toBe(401);
    expect((await world.call("GET", ofBoard(second.board_id), { agent: home.lead.token })).status).toBe(403);
    expect((await world.call("GET", ofBoard(), { agent: abroad.lead.token })).status).toBe(404);
  });
});

describe("what is told", () => {
  test("an agent is told what was said, by whom, and how to answer from its own board", async () => {
    await say("@second look");
    await world.drain();
    const { message } = host.messages.find(({ message }) => message.startsWith("GROUP CHAT MENTION"))!;
    const marker = /BEGIN MESSAGE ([0-9a-f]{16}) /.exec(message)![1];
    expect(message.split("\n")).toEqual([
      "GROUP CHAT MENTION",
      "Group: Platform",
      `From: tenant ${tenants}`,
      `--- BEGIN MESSAGE ${marker} ---`,
      "@second look",
      `--- END MESSAGE ${marker} ---`,
      expect.stringMatching(/^Reply in the group chat/),
      `POST https://board.example/api/v1/boards/${second.board_id}/group-memory`,
      'Body: {"content":"...","tags":["chat"]}',
    ]);
    const url = new URL(/^POST (\S+)$/m.exec(message)![1]!);
    const body = JSON.parse(/^Body: (.*)$/m.exec(message)![1]!);
    expect((await world.call("POST", url.pathname, { agent: second.agent.token, body })).body).toMatchObject({
      is_chat: true,
      source: "Second agent",
    });
  });

  test("chat reaches leads and those it mentions", async () => {
    expect((await say("hello")).body.source).toBe(`tenant ${tenants}`);
    expect(await told()).toEqual({ [home.lead.session_key]: "GROUP CHAT" });
    host.messages.length = 0;
    await say("@lead @worker");
    expect(await told()).toEqual({
      [home.lead.session_key]: "GROUP CHAT MENTION",
      [home.worker.session_key]: "GROUP CHAT MENTION",
    });
  });

  test.each([
    ["the tag broadcast", "all hands", ["broadcast"], false],
    ["the tag broadcast on chat", "all hands", ["chat", "broadcast"], true],
    ["@all", "@All hands @worker", null, false],
    ["@all in chat", "hands, @all!", ["chat"], true],
  ])("%s reaches every agent of every board", async (_what, content, tags, is_chat) => {
    expect((await say(content, tags)).body).toMatchObject({ source: `tenant ${tenants}`, is_chat });
    expect(await told()).toEqual({
      [home.lead.session_key]: "GROUP BROADCAST",
      [home.worker.session_key]: "GROUP BROADCAST",
      [await sessionOf(second.agent.id)]: "GROUP BROADCAST",
    });
  });

  test.each([
    ["a note", "hello @worker", null],
    ["another tag", "hello", ["Broadcast", "chats"]],
    ["an address", "mail@all of it", []],
  ])("%s reaches nobody", async (_what, content, tags) => {
    expect((await say(content, tags)).body.source).toBeNull();
    expect(await told()).toEqual({});
  });

  test("never the author, and nobody without a session or outside of the group", async () => {
    expect((await sayAs(home.lead.token, "@lead @all", home.board_id)).body.source).toBe("Lead");
    expect(await told()).toEqual({
      [home.worker.session_key]: "GROUP BROADCAST",
      [await sessionOf(second.agent.id)]: "GROUP BROADCAST",
    });
    host.messages.length = 0;
    await world.db.update(agents).set({ openclaw_session_id: null }).where(eq(agents.id, second.agent.id));
    await say("@all");
    expect(Object.keys(await told()).toSorted()).toEqual([home.lead.session_key, home.worker.session_key].toSorted());
  });

  test("nothing is written to the activity log", async () => {
    const events = async () =>
      (await world.db.execute(
        "select count(*)::int as total from activity_events where event_type not like 'agent.%'",
      )) as unknown as { rows: unknown };
    const before = (await events()).rows;
    await say("@all");
    await world.drain();
    expect((await events()).rows).toEqual(before);
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
