import { setTimeout as pause } from "node:timers/promises";
import { type Context, transaction } from "@board/core/context/context";
import { openPostgres } from "@board/core/db/postgres";
import { host_turns } from "@board/core/schema/all-tables";
import { acquireConfigLock } from "@board/openclaw/host/config-lock";
import { silentLog } from "@board/core/values/log";
import { scheduled } from "@board/api/work/schedules";
import { eq, sql } from "drizzle-orm";
import { beforeEach, expect, onTestFinished, test } from "vitest";
import { startDatabaseProxy } from "../support/database-proxy.ts";
import { setup } from "../support/fixtures.ts";
import { openServerWorld } from "../support/postgres-world.ts";

let gateway_id: string;

/** `world` and `narrow` stand for two processes: each has its own connections to the server. */
const { world, url } = await setup(openServerWorld({}, 10));
const narrow = await setup(openPostgres(url, { max: 1, log: silentLog }));
const first_process = world.context();
const second_process: Context = { ...world.context(), db: narrow.db };

beforeEach(() => {
  gateway_id = crypto.randomUUID();
});

const LONG = { wait_ms: 20_000 };
const lockRows = () => world.db.select().from(host_turns);
/** Lets the lock expire, as happens some time after its holder has died. */
const expireLock = () =>
  world.db.update(host_turns).set({ held_until: sql`now() - interval '1 ms'` }).where(eq(host_turns.gateway_id, gateway_id));

test("a writer waits for the lock, across all processes, and for the spacing after the last write", async () => {
  let inside = 0;
  const most: number[] = [];
  const gaps: number[] = [];
  let ended = Number.NEGATIVE_INFINITY;
  const write = async (ctx: Context) => {
    const lock = await acquireConfigLock(ctx, gateway_id, LONG);
    gaps.push(performance.now() - ended);
    most.push(++inside);
    await pause(5);
    inside--;
    ended = performance.now();
    await lock.release(150);
  };
  await Promise.all(Array.from({ length: 8 }, (_, index) => write(index % 2 === 0 ? first_process : second_process)));
  expect(most).toEqual(Array(8).fill(1));
  // The table stores whole milliseconds.
  for (const gap of gaps) expect(gap).toBeGreaterThanOrEqual(149);
});

test("the lock of one gateway does not affect another gateway", async () => {
  const first = await acquireConfigLock(first_process, gateway_id, LONG);
  const second = await acquireConfigLock(second_process, crypto.randomUUID(), { wait_ms: 0 });
  const holders = (await lockRows()).filter(({ holder }) => holder !== null);
  expect(holders).toHaveLength(2);
  await Promise.all([first.release(0), second.release(0)]);
});

test("waiting for the lock uses no database connection: one connection serves a holder, many waiters and other queries", async () => {
  const holder = await acquireConfigLock(second_process, gateway_id, LONG);
  const waiting = Array.from({ length: 5 }, () =>
    acquireConfigLock(second_process, gateway_id, LONG).then(async (lock) => {
      await lock.release(0);
      return "written";
    }),
  );
  await pause(300);
  expect((await second_process.db.select().from(host_turns)).length).toBeGreaterThan(0);
  await holder.release(0);
  expect(await Promise.all(waiting)).toEqual(Array(5).fill("written"));
});

test("waiting for the lock has a limit and can be aborted, and the error says that the configuration is busy", async () => {
  const holder = await acquireConfigLock(first_process, gateway_id, LONG);
  await expect(acquireConfigLock(second_process, gateway_id, { wait_ms: 300 })).rejects.toMatchObject({
    message: expect.stringContaining("configuration is busy"),
    failure: { retryable: true },
  });
  const stopping = new AbortController();
  const waiting = acquireConfigLock(second_process, gateway_id, { ...LONG, signal: stopping.signal });
  stopping.abort();
  await expect(waiting).rejects.toThrow("aborted");
  await holder.release(0);
});

test("a dead holder loses the lock when it expires, and its late release does not affect the next holder", async () => {
  const lost = await acquireConfigLock(first_process, gateway_id, LONG);
  const [held] = (await lockRows()).filter((lock) => lock.gateway_id === gateway_id);
  expect(held!.held_until.getTime() - Date.now()).toBeGreaterThan(50_000);
  await expect(acquireConfigLock(second_process, gateway_id, { wait_ms: 0 })).rejects.toThrow("busy");
  await expireLock();
  const next = await acquireConfigLock(second_process, gateway_id, { wait_ms: 0 });
  await lost.release(0);
  await expect(acquireConfigLock(first_process, gateway_id, { wait_ms: 0 })).rejects.toThrow("busy");
  await next.release(0);
  await (await acquireConfigLock(first_process, gateway_id, { wait_ms: 0 })).release(0);
});

test("the lock is extended while its holder works for a long time", async () => {
  const holder = await acquireConfigLock(first_process, gateway_id, { ...LONG, lease_ms: 900 });
  await expect(acquireConfigLock(second_process, gateway_id, { wait_ms: 2_000 })).rejects.toThrow("busy");
  await holder.release(0);
});

test("a lock whose answer was lost with the connection is free again at once, as is a lock whose release was lost", async () => {
  const proxy = await startDatabaseProxy(Number(new URL(url).port));
  const cut = openPostgres(url.replace(/:\d+\//, `:${proxy.port}/`), { max: 1, log: silentLog });
  onTestFinished(async () => {
    await cut.close();
    await proxy.close();
  });
  const ctx: Context = { ...world.context(), db: cut.db };
  await cut.db.execute(sql`select 1`);
  proxy.cutAfter(1);
  await expect(acquireConfigLock(ctx, gateway_id, LONG)).rejects.toThrow("host_turns");
  expect((await lockRows()).filter((lock) => lock.gateway_id === gateway_id)).toMatchObject([{ holder: null }]);
  const held = await acquireConfigLock(ctx, gateway_id, { wait_ms: 0 });
  proxy.drop();
  await held.release(0);
  await (await acquireConfigLock(first_process, gateway_id, { wait_ms: 0 })).release(0);
});

test("acquiring the lock inside a transaction is refused", async () => {
  await expect(transaction(first_process, (ctx) => acquireConfigLock(ctx, gateway_id, LONG))).rejects.toThrow(
    "inside a transaction",
  );
});

test("the lock rows of deleted gateways are removed, except a lock that is held", async () => {
  const { gateway_id: stays } = await world.tenant("home");
  const held = crypto.randomUUID();
  await (await acquireConfigLock(first_process, stays, LONG)).release(0);
  await (await acquireConfigLock(first_process, gateway_id, LONG)).release(0);
  const holder = await acquireConfigLock(first_process, held, LONG);
  await pause(5);
  await scheduled.retention(world.context());
  const left = (await lockRows()).map((lock) => lock.gateway_id);
  expect([left.includes(stays), left.includes(held), left.includes(gateway_id)]).toEqual([true, true, false]);
  await holder.release(0);
  await (await acquireConfigLock(first_process, gateway_id, { wait_ms: 0 })).release(0);
});
