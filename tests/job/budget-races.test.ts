import { rowsOf } from "@board/core/db/database";
import { openPostgres } from "@board/core/db/postgres";
import { gateway_circuits, jobs } from "@board/core/schema/all-tables";
import { silentLog } from "@board/core/values/log";
import { deliver } from "@board/api/work/handlers";
import { sql } from "drizzle-orm";
import { afterAll, beforeEach, expect, test, vi } from "vitest";
import { startFakeGateway } from "../support/fake-gateway/server.ts";
import { addNotices } from "../support/jobs.ts";
import { openServerWorld } from "../support/postgres-world.ts";
import { stopHost } from "../support/provisioning.ts";
import { skipProvisioning } from "../support/skip-provisioning.ts";
import { createWorld, type World } from "../support/world.ts";

const BUDGET = 5;
const LANES = Array.from({ length: 20 }, (_, index) => `agent-${index}`);

const host = await startFakeGateway({ token: "test-token-123" });
const limits = { organization_running_jobs: BUDGET, gateway_running_jobs: 0 };
const server = await openServerWorld({ limits });
/** Two processes with one database. */
const worlds: World[] = [server.world, await createWorld({ database: server.database, limits })];
const home = await server.world.tenant("home", host.url);
await skipProvisioning(server.world.db);
afterAll(async () => {
  await worlds?.[1]?.close();
  await server?.close();
  await host?.close();
});
beforeEach(async () => {
  host.faults.delays_ms = {};
  await server.world.db.delete(jobs);
});

const listAll = () => server.world.db.select().from(jobs);
const deliverAll = (ids: string[]) => Promise.all(ids.map((id, index) => deliver(worlds[index % 2]!.context(), id)));

test("two processes that lease twenty jobs at once stay within the budget, and all jobs are done in the end", async () => {
  host.faults.delays_ms["chat.send"] = 100;
  const ids = await addNotices(server.world, home, LANES);
  let is_over = false;
  const watch = async () => {
    let most = 0;
    while (!is_over) most = Math.max(most, (await listAll()).filter(({ status }) => status === "running").length);
    return most;
  };
  const watched = watch();
  await deliverAll(ids);
  for (let left = ids; left.length > 0; ) {
    await server.world.db.update(jobs).set({ run_at: server.world.now() });
    await deliverAll(left);
    left = (await listAll()).filter(({ status }) => status !== "done").map(({ id }) => id);
  }
  is_over = true;
  expect([await watched, (await listAll()).every(({ attempts }) => attempts === 1)]).toEqual([BUDGET, true]);
});

test("jobs leased at the same moment are all delivered, and when two choose the same slot, no connection breaks", async () => {
  const ROUNDS = 5;
  const warnings: string[] = [];
  const countRefused = async () => {
    const result = await server.world.db.execute(
      sql`select xact_rollback::int as refused from pg_stat_database where datname = current_database()`,
    );
    return rowsOf<{ refused: number }>(result)[0]!.refused;
  };
  const countWaiting = async () => {
    const result = await server.world.db.execute(
      sql`select count(*)::int as waiting from pg_stat_activity where datname = current_database() and wait_event_type = 'Lock'`,
    );
    return rowsOf<{ waiting: number }>(result)[0]!.waiting;
  };
  const before = await countRefused();
  const database = openPostgres(server.url, {
    max: LANES.length,
    log: { ...silentLog, warn: (event) => void warnings.push(event) },
  });
  const limits = { organization_running_jobs: 0, gateway_running_jobs: 2 * LANES.length };
  const world = await createWorld({ database, limits });
  for (let round = 0; round < ROUNDS; round++) {
    const ids = await addNotices(world, home, LANES);
    // All deliveries wait for this lock, and then lease their jobs at the same time.
    let delivered: Promise<unknown> | undefined;
    await server.world.db.transaction(async (db) => {
      await db.execute(sql`lock table jobs in share mode`);
      delivered = Promise.all(ids.map((id) => deliver(world.context(), id)));
      await vi.waitFor(async () => expect(await countWaiting()).toBe(LANES.length), { timeout: 30_000 });
    });
    await delivered;
  }
  await world.close();
  // Closing the connections makes sure that their rollbacks are in PostgreSQL's statistics.
  await database.close();
  expect((await listAll()).filter(({ status }) => status === "done")).toHaveLength(ROUNDS * LANES.length);
  expect((await countRefused()) - before).toBeGreaterThan(0);
  expect(warnings).toEqual([]);
});

test("a process waits for a host that another process found down, and only one job of all processes makes the trial call", async () => {
  await Promise.all(worlds.map((world) => stopHost(world, host)));
  const ids = await addNotices(server.world, home, LANES);
  await deliver(worlds[0]!.context(), ids[0]!);
  await deliver(worlds[1]!.context(), ids[1]!);
  const [first, second] = (await listAll()).toSorted((a, b) => Number(a.seq - b.seq));
  expect([first, second]).toMatchObject([{ attempts: 1 }, { attempts: 0, held_by: "circuit" }]);
  await host.start();
  host.faults.delays_ms["chat.send"] = 500;
  for (const world of worlds) world.elapse(3_000);
  const trials = deliverAll(ids.slice(1));
  // The circuit is marked as being on trial before the trial's job is leased.
  const tried = await vi.waitUntil(
    async () => {
      const running = (await listAll()).filter(({ status }) => status === "running");
      return running.length > 0 && running;
    },
    { timeout: 30_000 },
  );
  expect(tried).toHaveLength(1);
  expect(await server.world.db.select().from(gateway_circuits)).toMatchObject([{ half_open: true }]);
  await trials;
  expect(await server.world.db.select().from(gateway_circuits)).toEqual([]);
});
