import { board_group_memory, board_groups, boards, organization_board_access } from "@board/core/schema/all-tables";
import { eq } from "drizzle-orm";
import { beforeEach, describe, expect, test, vi } from "vitest";
import { addBoard } from "../support/board.ts";
import { addGroup, boardMemoryPath, groupMemoryPath } from "../support/group.ts";
import { setupTenants } from "../support/gateway-fixture.ts";
import { listen, STREAM_TIMEOUT_MS } from "../support/sse.ts";
import { renew } from "../support/fixtures.ts";

let group_id: string;

const { world, home } = await setupTenants({ streams: { poll_ms: 20 } });
/** A second board of the group, with one agent. */
const second = renew(() => addBoard(world, home, "Second"));
/** A board without a group. */
const alone = renew(() => addBoard(world, home, "Alone"));
beforeEach(async () => {
  group_id = await addGroup(world, home, "Platform", [home.board_id, second.board_id]);
});

const ofGroup = (query?: string) => groupMemoryPath(group_id, query);
const ofBoard = (id = home.board_id, query?: string) => boardMemoryPath(id, query);
const owner = () => ({ token: home.owner.token });
const post = (content: string, tags: string[] | null = ["chat"]) =>
  world.call("POST", ofGroup(), { ...owner(), body: { content, tags } });

describe("entries of group memory", () => {
  test("the group and each of its boards list the same entries, newest first", async () => {
    const created = await world.call("POST", ofGroup(), {
      ...owner(),
      body: { content: "  Freeze on Friday ", tags: ["ops"], source: " wiki " },
    });
    const { id, created_at } = created.body;
    const entry = {
      id,
      board_group_id: group_id,
      content: "Freeze on Friday",
      tags: ["ops"],
      source: "wiki",
      is_chat: false,
      created_at,
    };
    expect([created.status, created.body]).toEqual([200, entry]);
    const other = (await world.call("POST", ofBoard(), { agent: home.worker.token, body: { content: "ok" } })).body;
    expect(other).toMatchObject({ tags: null, source: "Worker", is_chat: false });
    for (const [path, who] of [
      [ofGroup(), owner()],
      [ofBoard(), owner()],
      [ofBoard(second.board_id), { agent: second.agent.token }],
    ] as const)
      expect((await world.call("GET", path, who)).body).toEqual({ items: [other, entry], total: 2, limit: 50, offset: 0 });
  });

  test("group entries are listed by page, chat and notes together or separately", async () => {
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
  ])("an invalid group entry is refused: %.60j", async (body, loc) => {
    for (const path of [ofGroup(), ofBoard()]) {
      const refused = await world.call("POST", path, { ...owner(), body });
      expect([refused.status, refused.body.detail[0].loc]).toEqual([422, loc]);
    }
  });

  test("a board without a group lists no entries and refuses new ones", async () => {
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

describe("access to group memory", () => {
  test("reading or writing group memory requires that right on one of the group's boards", async () => {
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
});

describe("the stream of group memory", () => {
  const follow = (path: string, who: { token?: string; agent?: string } = owner()) =>
    listen((target, init) => world.app.request(target, init), path, who);
  const contents = (listener: Awaited<ReturnType<typeof follow>>) =>
    listener.events().map(({ event, data }) => [event, data.memory.content]);

  test("the streams of a group and of its boards send new entries as they are listed", async () => {
    const listeners = [
      await follow(ofGroup("/stream")),
      await follow(ofBoard(home.board_id, "/stream")),
      await follow(ofBoard(second.board_id, "/stream"), { agent: second.agent.token }),
    ];
    const chat = await follow(ofGroup("/stream?is_chat=true"));
    const note = (await post("note", null)).body;
    await post("chat");
    for (const listener of listeners) {
      expect((await listener.waitForEvents(2))[0]!.data).toEqual({ memory: note });
      expect(contents(listener)).toEqual([
        ["memory", "note"],
        ["memory", "chat"],
      ]);
    }
    await chat.waitForEvents(1);
    expect(contents(chat)).toEqual([["memory", "chat"]]);
    await Promise.all([...listeners, chat].map((listener) => listener.close()));
  });

  test("a board's stream is silent without a group and follows the board from group to group", async () => {
    const other_id = await addGroup(world, home, "Other", []);
    const listener = await follow(ofBoard(alone.board_id, "/stream"));
    /** Waits for polls that began after this call. Each poll reads rows, and then checks the person's access again. */
    const waitForPolls = async () => {
      world.statements.length = 0;
      const renewals = () => world.statements.filter((statement) => statement.includes('from "users"')).length;
      await vi.waitUntil(() => renewals() > 3, { timeout: STREAM_TIMEOUT_MS, interval: 5 });
    };
    const write = async (id: string, content: string) => {
      await waitForPolls();
      await world.db.insert(board_group_memory).values({ board_group_id: id, content });
      await waitForPolls();
    };
    const move = (board_group_id: string | null) =>
      world.db.update(boards).set({ board_group_id }).where(eq(boards.id, alone.board_id));
    await write(group_id, "before");
    await move(group_id);
    await write(group_id, "in the first");
    await listener.waitForEvents(1);
    await move(other_id);
    await write(group_id, "after it left");
    await write(other_id, "in the second");
    await listener.waitForEvents(2);
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

  test("the stream of a deleted group ends", async () => {
    const listener = await follow(ofGroup("/stream"));
    await world.db.delete(board_groups).where(eq(board_groups.id, group_id));
    expect(await listener.waitForEnd()).toBe(true);
  });
});

test("the OpenAPI document offers the three operations of group memory to agents", async () => {
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
