import { setTimeout as pause } from "node:timers/promises";
import { scheduled } from "@board/api/work/schedules";
import { readOwnHorizon } from "@board/core/stream/horizon";
import { openPostgres } from "@board/core/db/postgres";
import { silentLog } from "@board/core/values/log";
import pg from "pg";
import { afterEach, describe, expect, test, vi } from "vitest";
import { connectMcp } from "../mcp/support.ts";
import { administer, startPostgres } from "../support/postgres.ts";
import { openPullBoard } from "../support/pull-board.ts";
import { listen, type Listener } from "../support/sse.ts";
import { setup, setupWorld } from "../support/fixtures.ts";
import { contentsOf, streamPath } from "./memory-stream-client.ts";

const INSERT = "insert into board_memory (board_id, content) values ($1, $2)";

let clients: pg.Client[] = [];
const listeners: Listener[] = [];

const postgres = await setup(startPostgres({ max_prepared_transactions: "5" }));
/** The databases of the service and of another application in the same cluster. */
const own = await postgres.createDatabase("own");
const other = await postgres.createDatabase("other");
await administer(other, "create table orders (id int)");
// The service has no right to see what other roles do.
await administer(own, "create role service login password 'service'; grant all on schema public to service");
await administer(own, "grant create on database own to service");
const url = new URL(own);
url.username = url.password = "service";
const database = await setup(openPostgres(url.href, { max: 6, log: silentLog }));
await database.migrate();
const world = await setupWorld({ database, streams: { poll_ms: 20 } });
const home = await world.tenant("home");

afterEach(async () => {
  await Promise.all(listeners.splice(0).map((listener) => listener.close()));
  await Promise.all(clients.map((client) => client.end()));
  clients = [];
  world.log.length = 0;
});

async function connect(url: string, application_name = "test"): Promise<pg.Client> {
  const client = new pg.Client({ connectionString: url, application_name });
  await client.connect();
  clients.push(client);
  return client;
}
async function openTransaction(url: string, statement: string, values: unknown[] = []): Promise<pg.Client> {
  const client = await connect(url, "nightly report");
  await client.query("begin");
  await client.query(statement, values);
  return client;
}
async function follow(last?: string): Promise<Listener> {
  const send = (target: string, init: RequestInit) => world.app.request(target, init);
  const listener = await listen(send, streamPath(home.board_id), { token: home.owner.token, last });
  listeners.push(listener);
  return listener;
}
const write = (content: string) =>
  world.call("POST", `/api/v1/boards/${home.board_id}/memory`, { token: home.owner.token, body: { content } });
const heldLines = () => world.log.filter(({ event }) => event === "stream.horizon_held");
const ageOfHorizon = async () => {
  world.measurements.length = 0;
  await scheduled.relay(world.context());
  return world.measurements.find(({ name }) => name === "StreamHorizonAge")?.value;
};

describe("a transaction that stays open in another database of the cluster", () => {
  test("an open transaction of another database does not hold streams back", async () => {
    const listener = await follow();
    await openTransaction(other, "insert into orders values (1)");
    await write("one");
    await write("two");
    await listener.waitForEvents(2);
    const resumed = await follow(listener.lastId());
    await write("three");
    await Promise.all([listener.waitForEvents(3), resumed.waitForEvents(1)]);
    expect([contentsOf(listener), contentsOf(resumed)]).toEqual([["one", "two", "three"], ["three"]]);
    expect(heldLines()).toEqual([]);
    expect(await ageOfHorizon()).toBe(0);
  });

  test("a prepared transaction of another database does not hold streams back", async () => {
    const listener = await follow();
    const client = await openTransaction(other, "insert into orders values (2)");
    await client.query("prepare transaction 'abandoned'");
    await write("one");
    await write("two");
    await listener.waitForEvents(2);
    expect(contentsOf(listener)).toEqual(["one", "two"]);
    await client.query("rollback prepared 'abandoned'");
  });
});

test("an open transaction of another database does not keep messages from an agent's inbox", async () => {
  const { worker, addTask, inbox } = await openPullBoard(world, "elsewhere");
  await openTransaction(other, "insert into orders values (3)");
  const id = await addTask({ assigned_agent_id: worker.id });
  await inbox(worker);
  world.elapse(6_000);
  const expected = [{ kind: "task.assigned", task_id: id }];
  expect((await inbox(worker)).body.messages).toMatchObject(expected);
  expect((await (await connectMcp(world, worker.token)).use("check_inbox")).data.messages).toMatchObject(expected);
});

test("a message behind an open transaction of the service's database waits for it, so that no message is skipped", async () => {
  const { worker, board_id, organization_id, addTask, inbox } = await openPullBoard(world, "behind");
  await openTransaction(other, "insert into orders values (4)");
  const values = [organization_id, board_id, worker.id];
  const insert =
    "insert into inbox_messages (organization_id, board_id, agent_id, kind, text) values ($1, $2, $3, 'task.assigned', 'Early')";
  // Disables foreign keys, so that the transaction locks no rows that a task needs.
  const slow = await openTransaction(own, "set local session_replication_role = replica");
  await slow.query(insert, values);
  const id = await addTask({ assigned_agent_id: worker.id });
  await inbox(worker);
  world.elapse(6_000);
  const waiting = (await inbox(worker)).body;
  expect([waiting.messages, waiting.counts.messages, waiting.next_check_seconds]).toEqual([[], 1, 5]);
  await slow.query("commit");
  const { messages } = (await inbox(worker)).body;
  expect(messages).toMatchObject([{ text: "Early" }, { kind: "task.assigned", task_id: id }]);
});

describe("a transaction that stays open in the database of the service", () => {
  test("rows behind an open transaction wait for it, in order and without loss, and its session is logged", async () => {
    const listener = await follow();
    const slow = await openTransaction(own, INSERT, [home.board_id, "slow"]);
    await write("one");
    await write("two");
    await pause(200);
    expect(listener.events()).toEqual([]);
    world.elapse(11_000);
    await vi.waitFor(() => expect(heldLines()).toHaveLength(1), { timeout: 10_000 });
    const { rows } = await slow.query("select pg_backend_pid() as pid");
    expect(heldLines()[0]).toMatchObject({ level: "warn", pid: rows[0].pid, application_name: "nightly report" });
    expect(heldLines()[0]!["age_seconds"]).toBeGreaterThanOrEqual(10);
    await pause(200);
    expect(heldLines(), "one line for each transaction").toHaveLength(1);
    expect(listener.events()).toEqual([]);
    expect(await ageOfHorizon()).toBeGreaterThanOrEqual(10);
    await slow.query("commit");
    await listener.waitForEvents(3);
    expect(contentsOf(listener)).toEqual(["slow", "one", "two"]);
    expect(await ageOfHorizon()).toBe(0);
  });

  test("a prepared transaction of the service's database is named in the log", async () => {
    await follow();
    const client = await openTransaction(own, INSERT, [home.board_id, "prepared"]);
    await client.query("prepare transaction 'forgotten'");
    await write("one");
    world.elapse(11_000);
    await vi.waitFor(
      async () => {
        await write("more");
        world.elapse(11_000);
        expect(heldLines()).toMatchObject([{ prepared_transaction: "forgotten" }]);
      },
      { timeout: 10_000, interval: 100 },
    );
    await client.query("rollback prepared 'forgotten'");
  });
});

/** A row that appears below a horizon after that horizon was reported would be lost for every stream. */
test("no row appears below a position that was reported as complete, while transactions of two databases overlap", async () => {
  let working = true;
  const writer = async (url: string, statement: string, values: (number: number) => unknown[]) => {
    for (let number = 0; working; number++) {
      // Reconnects often, because PostgreSQL gives new sessions the process ids and slots of ended ones.
      const client = new pg.Client(url);
      await client.connect();
      for (let round = 0; round < 3 && working; round++) {
        await client.query("begin");
        await client.query(statement, values(number));
        await pause(Math.random() * 30);
        await client.query(statement, values(number));
        await client.query(Math.random() > 0.1 ? "commit" : "rollback");
      }
      await client.end();
    }
  };
  const writers = [0, 1, 2, 3].flatMap(() => [
    writer(own, INSERT, (number) => [home.board_id, String(number)]),
    writer(other, "insert into orders values ($1)", (number) => [number]),
  ]);
  await openTransaction(other, "insert into orders values (0)");
  const reader = await connect(own);
  const count = async (horizon: bigint) =>
    Number((await reader.query("select count(*) from board_memory where tx < $1::text::xid8", [horizon])).rows[0].count);
  const reported: { horizon: bigint; rows: number }[] = [];
  const until = performance.now() + 8_000;
  while (performance.now() < until) {
    const { horizon } = await readOwnHorizon(world.context());
    reported.push({ horizon, rows: await count(horizon) });
  }
  working = false;
  await Promise.all(writers);
  const plain = BigInt((await reader.query("select pg_snapshot_xmin(pg_current_snapshot())::text as xmin")).rows[0].xmin);
  expect(reported.at(-1)!.horizon, "the other database's transaction is older than the horizon").toBeGreaterThan(plain);
  expect(new Set(reported.map(({ horizon }) => horizon)).size).toBeGreaterThan(50);
  for (const { horizon, rows } of reported) expect(await count(horizon)).toBe(rows);
});
