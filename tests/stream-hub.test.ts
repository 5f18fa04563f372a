import { setTimeout as pause } from "node:timers/promises";
import { createMemory, frame, openConnection } from "@board/api/sse";
import { changedNow } from "@board/core/db/columns";
import { agents } from "@board/core/db/schema";
import { cursorOf } from "@board/core/stream/cursor";
import { type Follower, type Grant, startAt } from "@board/core/stream/follower";
import { createHub } from "@board/core/stream/hub";
import { inOrder, type Source, type StreamEvent, within } from "@board/core/stream/source";
import { takeTurns } from "@board/core/stream/turns";
import { and, eq } from "drizzle-orm";
import { afterAll, beforeAll, describe, expect, test, vi } from "vitest";
import { addBoard } from "./support/board.ts";
import { listen, parseEvents } from "./support/sse.ts";
import { createWorld, type Tenant, type World } from "./support/world.ts";

let world: World;
let home: Tenant;
beforeAll(async () => {
  world = await createWorld({ streams: { poll_ms: 50 } });
  home = await world.tenant("home");
});
afterAll(() => world.close());

const follow = (board_id: string, who: { token?: string; agent?: string } = { token: home.owner.token }) =>
  listen((target, init) => world.app.request(target, init), `/api/v1/boards/${board_id}/memory/stream`, who);
const write = (board_id: string, content: string) =>
  world.call("POST", `/api/v1/boards/${board_id}/memory`, { token: home.owner.token, body: { content } });

describe("what polls cost", () => {
  const POLLS = 10;
  const kinds = {
    horizon: "pg_snapshot_xmin",
    rows: 'from "board_memory"',
    people: 'from "users"',
    agents: 'from "agents"',
    boards: 'from "boards"',
  };
  const count = (text: string) => world.statements.filter((one) => one.includes(text)).length;

  /** What a poll costs, by what it reads, counted while no request is made. A slow machine looks oftener than it polls. */
  async function costOfAPoll() {
    world.statements.length = 0;
    await vi.waitUntil(() => count(kinds.people) > POLLS, { timeout: 10_000, interval: 1 });
    const { horizon, people, ...others } = kinds;
    const polls = count(people);
    expect(count(horizon)).toBeGreaterThanOrEqual(polls - 1);
    const perPoll = (statements: number) => Math.round(statements / polls);
    const of = Object.entries(others).map(([kind, text]) => [kind, perPoll(count(text))]);
    return { all: perPoll(world.statements.length - count(horizon)), ...Object.fromEntries(of) };
  }

  test("forty streams of one board cost one poll, and one renewal for each of two callers", async () => {
    const listeners = await Promise.all(
      Array.from({ length: 40 }, (_, index) =>
        follow(home.board_id, index % 2 ? { token: home.owner.token } : { agent: home.worker.token }),
      ),
    );
    const idle = { all: 4, rows: 0, agents: 1, boards: 2 };
    await pause(100);
    expect(await costOfAPoll()).toEqual(idle);
    await write(home.board_id, "hello");
    for (const listener of listeners) await listener.receives(1);
    expect(listeners.map((listener) => listener.events().length)).toEqual(listeners.map(() => 1));
    const ids = new Set(listeners.map((listener) => listener.lastId()));
    expect(ids.size).toBe(1);
    await pause(150);
    expect(await costOfAPoll()).toEqual(idle);
    await Promise.all(listeners.map((listener) => listener.close()));
    await pause(100);
    world.statements.length = 0;
    await pause(200);
    expect(world.statements).toEqual([]);
  });

  test("rows are read once for all streams of a board, and apart for each board", async () => {
    const second = await addBoard(world, home, "Apart");
    const listeners = await Promise.all([home.board_id, home.board_id, home.board_id, second.board_id].map((id) => follow(id)));
    await pause(120);
    world.statements.length = 0;
    await write(home.board_id, "news");
    await Promise.all(listeners.slice(0, 3).map((listener) => listener.receives(1)));
    await pause(60);
    expect(world.statements.filter((one) => one.includes('from "board_memory"')).length).toBe(2);
    expect(listeners[3]!.events()).toEqual([]);
    await Promise.all(listeners.map((listener) => listener.close()));
  });
});

describe("a client that does not read", () => {
  test("holds back its own stream only, costs no memory, and gets everything once it reads", async () => {
    const { board_id } = await addBoard(world, home, "Slow");
    const stalled = await world.app.request(`/api/v1/boards/${board_id}/memory/stream`, {
      headers: { authorization: `Bearer ${home.owner.token}` },
    });
    const quick = await follow(board_id);
    const contents = Array.from({ length: 60 }, (_, index) => `${index} ${"x".repeat(10_000)}`);
    for (const content of contents) await write(board_id, content);
    await quick.receives(60);
    world.statements.length = 0;
    await pause(150);
    // It is not read for: what it gets next, it gets when it has room.
    expect(world.statements.filter((one) => one.includes('from "board_memory"'))).toEqual([]);
    let text = "";
    const decoder = new TextDecoder();
    const reader = stalled.body!.getReader();
    while (parseEvents(text).length < 60) text += decoder.decode((await reader.read()).value, { stream: true });
    expect(parseEvents(text).map(({ data }) => data.memory.content)).toEqual(contents);
    await reader.cancel();
    await quick.close();
  });

  test("has at most 64 KB and one event waiting for it", async () => {
    const connection = openConnection(1_000_000, { room: () => {}, gone: () => {} });
    const event = (id: number): StreamEvent => ({
      id: `${id}`,
      cursor: cursorOf("1", BigInt(id)),
      name: "x",
      data: `"${"x".repeat(10_000)}"`,
      digest: `${id}`,
    });
    let sent = 0;
    while (connection.ready()) connection.send(event(++sent));
    expect(sent).toBe(7);
    connection.close("bye");
    expect(connection.ready()).toBe(false);
    expect((await new Response(connection.body).text()).endsWith("bye")).toBe(true);
  });
});

describe("rows that change in place", () => {
  const order = { tx: agents.change_tx, seq: agents.change_seq, at: agents.updated_at };
  const names: Source = {
    key: "names",
    event: "agent",
    async read(ctx, window) {
      const rows = await ctx.db
        .select()
        .from(agents)
        .where(and(eq(agents.board_id, home.board_id), within(window, order)))
        .orderBy(...inOrder(window, order))
        .limit(window.limit);
      return rows.map(({ id, name, change_tx, change_seq }) => ({ id, cursor: cursorOf(change_tx, change_seq), data: name }));
    },
  };
  const change = (name?: string) =>
    world.db
      .update(agents)
      .set({ ...(name ? { name } : {}), ...changedNow })
      .where(eq(agents.id, home.worker.id));

  test("are sent once per visible change", async () => {
    const hub = createHub(() => world.context(), 10);
    const connection = openConnection(1_000_000, { room: () => {}, gone: () => {} });
    const { place, below } = await startAt(world.context(), { last_event_id: null, since: null });
    const grant: Grant = { key: "", kind: "", renew: async (grants) => grants.map(() => names) };
    const follower: Follower = { ...place, source: names, client: connection, grant };
    hub.add(follower, below);
    for (const name of ["First", undefined, "Second", undefined, undefined, "First"]) {
      await change(name);
      await pause(50);
    }
    hub.remove(follower);
    connection.close();
    const text = await new Response(connection.body).text();
    expect(parseEvents(text).map(({ data }) => data)).toEqual(["First", "Second", "First"]);
  });

  test("two thousand of them are remembered", () => {
    const isNew = createMemory();
    const event = (id: number, digest = "") => ({ id: `${id}`, digest }) as StreamEvent;
    for (let id = 0; id < 2_000; id++) expect(isNew(event(id))).toBe(true);
    expect([isNew(event(0)), isNew(event(1_999)), isNew(event(5, "changed")), isNew(event(5, "changed"))]).toEqual([
      false,
      false,
      true,
      false,
    ]);
    expect(isNew(event(2_000))).toBe(true);
    // The oldest made room.
    expect([isNew(event(0)), isNew(event(2))]).toEqual([true, false]);
  });

  test("start strictly after `since` where a stream says so", async () => {
    const at = new Date("2026-01-01T00:00:00Z");
    await world.db.update(agents).set({ updated_at: at }).where(eq(agents.id, home.lead.id));
    const window = { after: cursorOf("0", 0n), below: 2n ** 62n, since: at, limit: 10 };
    const count = async (strictly: boolean) =>
      (
        await world.db
          .select()
          .from(agents)
          .where(and(eq(agents.id, home.lead.id), within(window, { ...order, strictly })))
      ).length;
    expect([await count(false), await count(true)]).toEqual([1, 0]);
  });
});

test("a frame keeps to one line whatever the data holds", () => {
  const data = JSON.stringify("a\nb\r\u2028");
  expect(frame({ id: "1", cursor: cursorOf("5", 6n), name: "x", data, digest: "" })).toBe(
    `id: NS42\nevent: x\ndata: "a\\nb\\r\u2028"\n\n`,
  );
});

test("turns are taken in order, a few at a time, and a failure gives its place back", async () => {
  const turn = takeTurns(2);
  let running = 0;
  let most = 0;
  const order: number[] = [];
  const work = (id: number) =>
    turn(async () => {
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
