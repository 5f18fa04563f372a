import { setTimeout as pause } from "node:timers/promises";
import { createDeduplicator, formatEvent, openConnection } from "@board/api/stream/sse-connection";
import { changedNow } from "@board/core/schema/columns";
import { agents } from "@board/core/schema/all-tables";
import { toCursor } from "@board/core/stream/cursor";
import { type Follower, type Grant, startPosition } from "@board/core/stream/follower";
import { createHub } from "@board/core/stream/hub";
import { windowOrder, type Source, type StreamEvent, windowCondition } from "@board/core/stream/source";
import { createLimiter } from "@board/core/values/concurrency";
import { and, eq } from "drizzle-orm";
import { describe, expect, test, vi } from "vitest";
import { addBoard } from "../support/board.ts";
import { listen, parseEvents } from "../support/sse.ts";
import { setupWorld } from "../support/fixtures.ts";

const world = await setupWorld({ streams: { poll_ms: 50 }, environment: { STREAMS_PER_CALLER: "0" } });
const home = await world.tenant("home");

const follow = (board_id: string, who: { token?: string; agent?: string } = { token: home.owner.token }) =>
  listen((target, init) => world.app.request(target, init), `/api/v1/boards/${board_id}/memory/stream`, who);
const write = (board_id: string, content: string) =>
  world.call("POST", `/api/v1/boards/${board_id}/memory`, { token: home.owner.token, body: { content } });

describe("the cost of polls", () => {
  const POLLS = 10;
  const kinds = {
    horizon: "pg_snapshot_xmin",
    rows: 'from "board_memory"',
    people: 'from "users"',
    agents: 'from "agents"',
    boards: 'from "boards"',
  };
  const count = (text: string) => world.statements.filter((statement) => statement.includes(text)).length;

  /**
   * Counts the statements of one poll by what they read, while there are no requests. A slow machine may check the horizon more
   * often than it polls.
   */
  async function countPollStatements() {
    world.statements.length = 0;
    await vi.waitUntil(() => count(kinds.people) > POLLS, { timeout: 10_000, interval: 1 });
    const { horizon, people, ...others } = kinds;
    const polls = count(people);
    expect(count(horizon)).toBeGreaterThanOrEqual(polls - 1);
    const perPoll = (statements: number) => Math.round(statements / polls);
    const perKind = Object.entries(others).map(([kind, text]) => [kind, perPoll(count(text))]);
    return { all: perPoll(world.statements.length - count(horizon)), ...Object.fromEntries(perKind) };
  }

  test("forty streams of one board share one poll, with one check of access for each of their two readers", async () => {
    const listeners = await Promise.all(
      Array.from({ length: 40 }, (_, index) =>
        follow(home.board_id, index % 2 ? { token: home.owner.token } : { agent: home.worker.token }),
      ),
    );
    const idle = { all: 4, rows: 0, agents: 1, boards: 2 };
    await pause(100);
    expect(await countPollStatements()).toEqual(idle);
    await write(home.board_id, "hello");
    for (const listener of listeners) await listener.waitForEvents(1);
    expect(listeners.map((listener) => listener.events().length)).toEqual(listeners.map(() => 1));
    const ids = new Set(listeners.map((listener) => listener.lastId()));
    expect(ids.size).toBe(1);
    await pause(150);
    expect(await countPollStatements()).toEqual(idle);
    await Promise.all(listeners.map((listener) => listener.close()));
    await pause(100);
    world.statements.length = 0;
    await pause(200);
    expect(world.statements).toEqual([]);
  });

  test("the rows of a board are read once for all of its streams", async () => {
    const second = await addBoard(world, home, "Apart");
    const listeners = await Promise.all([home.board_id, home.board_id, home.board_id, second.board_id].map((id) => follow(id)));
    await pause(120);
    world.statements.length = 0;
    await write(home.board_id, "news");
    await Promise.all(listeners.slice(0, 3).map((listener) => listener.waitForEvents(1)));
    await pause(60);
    expect(world.statements.filter((statement) => statement.includes('from "board_memory"')).length).toBe(2);
    expect(listeners[3]!.events()).toEqual([]);
    await Promise.all(listeners.map((listener) => listener.close()));
  });
});

describe("a client that does not read", () => {
  test("a client that does not read delays only its own stream and gets everything once it reads", async () => {
    const { board_id } = await addBoard(world, home, "Slow");
    const stalled = await world.app.request(`/api/v1/boards/${board_id}/memory/stream`, {
      headers: { authorization: `Bearer ${home.owner.token}` },
    });
    const quick = await follow(board_id);
    const contents = Array.from({ length: 60 }, (_, index) => `${index} ${"x".repeat(10_000)}`);
    for (const content of contents) await write(board_id, content);
    await quick.waitForEvents(60);
    world.statements.length = 0;
    await pause(150);
    // Rows are read for a stream only when its connection can take more.
    expect(world.statements.filter((statement) => statement.includes('from "board_memory"'))).toEqual([]);
    let text = "";
    const decoder = new TextDecoder();
    const reader = stalled.body!.getReader();
    while (parseEvents(text).length < 60) text += decoder.decode((await reader.read()).value, { stream: true });
    expect(parseEvents(text).map(({ data }) => data.memory.content)).toEqual(contents);
    await reader.cancel();
    await quick.close();
  });

  test("at most 64 KB and one event are buffered for a client that does not read", async () => {
    const connection = openConnection(1_000_000, { onWritable: () => {}, onClosed: async () => {} });
    const event = (id: number): StreamEvent => ({
      id: `${id}`,
      cursor: toCursor("1", BigInt(id)),
      name: "x",
      data: `"${"x".repeat(10_000)}"`,
      digest: `${id}`,
    });
    let sent = 0;
    while (connection.isReady()) connection.send(event(++sent));
    expect(sent).toBe(7);
    connection.close("bye");
    expect(connection.isReady()).toBe(false);
    expect((await new Response(connection.body).text()).endsWith("bye")).toBe(true);
  });
});

describe("rows that change in place", () => {
  const order = { tx: agents.change_tx, seq: agents.change_seq, at: agents.updated_at };
  const names: Source = {
    key: "names",
    organization_id: "",
    event: "agent",
    async read(ctx, window) {
      const rows = await ctx.db
        .select()
        .from(agents)
        .where(and(eq(agents.board_id, home.board_id), windowCondition(window, order)))
        .orderBy(...windowOrder(window, order))
        .limit(window.limit);
      return rows.map(({ id, name, change_tx, change_seq }) => ({ id, cursor: toCursor(change_tx, change_seq), data: name }));
    },
  };
  const change = (name?: string) =>
    world.db
      .update(agents)
      .set({ ...(name ? { name } : {}), ...changedNow })
      .where(eq(agents.id, home.worker.id));

  test("a row that changes in place is sent once per visible change", async () => {
    const hub = createHub(() => world.context(), 10);
    const connection = openConnection(1_000_000, { onWritable: () => {}, onClosed: async () => {} });
    const { position, horizon } = await startPosition(world.context(), { last_event_id: null, since: null });
    const grant: Grant = { key: "", kind: "", renew: async (grants) => grants.map(() => names) };
    const follower: Follower = { ...position, source: names, client: connection, grant };
    hub.add(follower, horizon);
    for (const name of ["First", undefined, "Second", undefined, undefined, "First"]) {
      await change(name);
      await pause(50);
    }
    hub.remove(follower);
    connection.close();
    const text = await new Response(connection.body).text();
    expect(parseEvents(text).map(({ data }) => data)).toEqual(["First", "Second", "First"]);
  });

  test("duplicates are recognized among the last two thousand rows", () => {
    const isNew = createDeduplicator();
    const event = (id: number, digest = "") => ({ id: `${id}`, digest }) as StreamEvent;
    for (let id = 0; id < 2_000; id++) expect(isNew(event(id))).toBe(true);
    expect([isNew(event(0)), isNew(event(1_999)), isNew(event(5, "changed")), isNew(event(5, "changed"))]).toEqual([
      false,
      false,
      true,
      false,
    ]);
    expect(isNew(event(2_000))).toBe(true);
    // The oldest entry was dropped.
    expect([isNew(event(0)), isNew(event(2))]).toEqual([true, false]);
  });

  test("a source can start strictly after `since`", async () => {
    const at = new Date("2026-01-01T00:00:00Z");
    await world.db.update(agents).set({ updated_at: at }).where(eq(agents.id, home.lead.id));
    const window = { after: toCursor("0", 0n), below: 2n ** 62n, since: at, limit: 10 };
    const count = async (strictly: boolean) =>
      (
        await world.db
          .select()
          .from(agents)
          .where(and(eq(agents.id, home.lead.id), windowCondition(window, { ...order, strictly })))
      ).length;
    expect([await count(false), await count(true)]).toEqual([1, 0]);
  });
});

test("the data of an event stays on one line even with line breaks in it", () => {
  const data = JSON.stringify("a\nb\r\u2028");
  expect(formatEvent({ id: "1", cursor: toCursor("5", 6n), name: "x", data, digest: "" })).toBe(
    `id: NS42\nevent: x\ndata: "a\\nb\\r\u2028"\n\n`,
  );
});

test("a limiter runs work in order up to its limit, and a failure frees its slot", async () => {
  const limit = createLimiter(2);
  let running = 0;
  let most = 0;
  const order: number[] = [];
  const work = (id: number) =>
    limit(async () => {
      order.push(id);
      most = Math.max(most, ++running);
      await pause(5);
      running--;
      if (id === 2) throw new Error("failed");
    }).catch(() => {});
  await Promise.all([1, 2, 3, 4, 5].map(work));
  await work(6);
  expect([order, most]).toEqual([[1, 2, 3, 4, 5, 6], 2]);
});
