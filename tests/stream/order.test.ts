import { setTimeout as pause } from "node:timers/promises";
import { sql } from "drizzle-orm";
import pg from "pg";
import { afterAll, describe, expect, test } from "vitest";
import { addBoard } from "../support/board.ts";
import { openServerWorld, type ServerWorld } from "../support/postgres-world.ts";
import { listen, type Listener, parseEvents } from "../support/sse.ts";
import type { Tenant, World } from "../support/world.ts";

const opened: ServerWorld[] = [];
async function open({
  connections,
  ...streams
}: {
  connections: number;
  poll_ms: number;
  max_seconds?: number;
  hold_seconds?: number;
}) {
  const server = await openServerWorld({ streams, environment: { STREAMS_PER_CALLER: "0" } }, connections);
  opened.push(server);
  return { ...server, home: await server.world.tenant("home") };
}
afterAll(async () => {
  for (const { close } of opened) await close();
});

const streamOf = (world: World, tenant: Tenant, board_id = tenant.board_id, last?: string, query = "") =>
  listen((target, init) => world.app.request(target, init), `/api/v1/boards/${board_id}/memory/stream${query}`, {
    token: tenant.owner.token,
    last,
  });
const numbersOf = (listener: Listener): number[] => listener.events().map(({ data }) => Number(data.memory.content));

interface Writers {
  committed: Set<number>;
  done: Promise<unknown>;
}

/** Starts writers whose transactions stay open for a while and overlap; some are rolled back. */
function startWriters(
  url: string,
  board_id: string,
  options: { writers: number; transactions: number; hold_ms: number },
): Writers {
  const committed = new Set<number>();
  let number = 0;
  async function write() {
    const client = new pg.Client(url);
    await client.connect();
    for (let round = 0; round < options.transactions; round++) {
      const rows = Array.from({ length: 1 + Math.floor(Math.random() * 3) }, () => ++number);
      await client.query("begin");
      for (const row of rows) {
        await client.query("insert into board_memory (board_id, content) values ($1, $2)", [board_id, String(row)]);
        await pause(Math.random() * options.hold_ms);
      }
      const keep = Math.random() > 0.1;
      await client.query(keep ? "commit" : "rollback");
      if (keep) for (const row of rows) committed.add(row);
    }
    await client.end();
  }
  return { committed, done: Promise.all(Array.from({ length: options.writers }, write)) };
}

describe("eight writers whose transactions overlap", () => {
  test("streams that are cut and resumed at any moment receive every committed row once", async () => {
    const { url, world, home } = await open({ connections: 4, poll_ms: 10 });
    const writers = startWriters(url, home.board_id, { writers: 8, transactions: 60, hold_ms: 15 });
    let writing = true;
    void writers.done.then(() => (writing = false));

    /** Acts as a client that reads for a while, is cut off and resumes with its last id. */
    async function reconnectingClient(first: string) {
      const received: number[] = [];
      let cuts = 0;
      let last: string | undefined;
      const read = async (listener: Listener, until: () => boolean) => {
        while (!until()) await pause(2);
        received.push(...numbersOf(listener));
        last = listener.lastId() ?? last;
        await listener.close();
      };
      while (writing) {
        const ends = performance.now() + Math.random() * 60;
        await read(await streamOf(world, home, home.board_id, last, last ? "" : first), () => performance.now() > ends);
        cuts++;
      }
      const final = await streamOf(world, home, home.board_id, last, last ? "" : first);
      await read(final, () => new Set([...received, ...numbersOf(final)]).size >= writers.committed.size);
      return { received, cuts };
    }
    const steady = await streamOf(world, home, home.board_id, undefined, "?since=2000-01-01");
    const clients = await Promise.all([1, 2, 3].map(() => reconnectingClient("?since=2000-01-01")));
    await writers.done;
    await steady.waitForEvents(writers.committed.size);
    await pause(100);

    const committed = [...writers.committed].toSorted((a, b) => a - b);
    expect(committed.length).toBeGreaterThan(500);
    expect(numbersOf(steady).toSorted((a, b) => a - b)).toEqual(committed);
    for (const { received, cuts } of clients) {
      expect(cuts).toBeGreaterThan(10);
      expect(received.toSorted((a, b) => a - b)).toEqual(committed);
    }
    await steady.close();
  });

  test("a row that commits after later ones is not skipped and does not delay earlier ones", async () => {
    const { url, world, home } = await open({ connections: 4, poll_ms: 10 });
    const listener = await streamOf(world, home);
    const insert = "insert into board_memory (board_id, content) values ($1, $2)";
    const [slow, quick] = [new pg.Client(url), new pg.Client(url)];
    await Promise.all([slow.connect(), quick.connect()]);
    await quick.query(insert, [home.board_id, "1"]);
    await listener.waitForEvents(1);
    await slow.query("begin");
    await slow.query(insert, [home.board_id, "2"]);
    await quick.query(insert, [home.board_id, "3"]);
    await pause(100);
    // A stream that is cut here resumes after the first row, and not after the rows that still wait.
    const other = await streamOf(world, home, home.board_id, listener.lastId());
    expect(numbersOf(listener)).toEqual([1]);
    await slow.query("commit");
    for (const stream of [listener, other]) await stream.waitForEvents(stream === listener ? 3 : 2);
    expect([numbersOf(listener), numbersOf(other)]).toEqual([
      [1, 2, 3],
      [2, 3],
    ]);
    await Promise.all([slow.end(), quick.end(), listener.close(), other.close()]);
  });
});

describe("the database connections of streams", () => {
  test("one database connection serves many open streams and also requests", async () => {
    const { world, home } = await open({ connections: 1, poll_ms: 10 });
    const boards = await Promise.all([1, 2, 3, 4, 5].map((number) => addBoard(world, home, `Board ${number}`)));
    const listeners = await Promise.all(
      boards.flatMap(({ board_id }) => Array.from({ length: 8 }, () => streamOf(world, home, board_id))),
    );
    for (const { board_id } of boards)
      for (const content of ["1", "2"])
        await world.call("POST", `/api/v1/boards/${board_id}/memory`, { token: home.owner.token, body: { content } });
    for (const listener of listeners) expect((await listener.waitForEvents(2)).length).toBe(2);
    expect(listeners.map(numbersOf)).toEqual(listeners.map(() => [1, 2]));
    const result = await world.db.execute(
      sql`select count(*)::int as open from pg_stat_activity where datname = current_database() and state like 'idle in transaction%'`,
    );
    expect((result as unknown as { rows: { open: number }[] }).rows).toEqual([{ open: 0 }]);
    await Promise.all(listeners.map((listener) => listener.close()));
  });

  test("one database connection serves many answers that wait for their first event and also requests", async () => {
    const { world, home } = await open({ connections: 1, poll_ms: 10, max_seconds: 0, hold_seconds: 60 });
    const path = `/api/v1/boards/${home.board_id}/memory`;
    const answers = Array.from({ length: 20 }, () => world.call("GET", `${path}/stream`, { token: home.owner.token }));
    await pause(200);
    const entry = (await world.call("POST", path, { token: home.owner.token, body: { content: "1" } })).body;
    for (const { text } of await Promise.all(answers)) expect(parseEvents(text).map(({ data }) => data.memory)).toEqual([entry]);
  });

  test("open streams continue after the database could not be reached for a while", async () => {
    const { world, home, url } = await open({ connections: 4, poll_ms: 10 });
    const listener = await streamOf(world, home);
    const admin = new pg.Client(new URL("/postgres", url).href);
    await admin.connect();
    const name = new URL(url).pathname.slice(1);
    await admin.query(`alter database "${name}" allow_connections false`);
    await admin.query("select pg_terminate_backend(pid) from pg_stat_activity where datname = $1", [name]);
    await pause(100);
    await admin.query(`alter database "${name}" allow_connections true`);
    await admin.end();
    await world.call("POST", `/api/v1/boards/${home.board_id}/memory`, { token: home.owner.token, body: { content: "7" } });
    await listener.waitForEvents(1);
    expect(numbersOf(listener)).toEqual([7]);
    expect(world.log.some(({ event }) => event === "stream.poll_failed")).toBe(true);
    await listener.close();
  });
});
