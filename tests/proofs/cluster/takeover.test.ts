import { jobs, schedule_turns } from "@board/core/schema/all-tables";
import { and, eq, isNotNull, isNull, sql } from "drizzle-orm";
import { afterAll, beforeAll, expect, test, vi } from "vitest";
import { cleanUpPrograms } from "../../support/program.ts";
import { type Cluster, openCluster } from "./cluster.ts";

const JOBS = 20;
const MINUTE_MS = 60_000;
const seconds = (ms: number) => (ms / 1_000).toFixed(1);
const WAIT = { timeout: 5 * MINUTE_MS, interval: 100 };

let cluster: Cluster;
beforeAll(async () => {
  cluster = await openCluster(2);
});
afterAll(async () => {
  await cleanUpPrograms();
  await cluster?.close();
});
const count = (condition: Parameters<typeof cluster.world.db.$count>[1]) => cluster.world.db.$count(jobs, condition);

test.for(["SIGTERM", "SIGKILL"] as const)(
  "jobs whose wake-ups a process held when it ended by %s are done by another process within a minute",
  async (signal, { task }) => {
    const { db } = cluster.world;
    await db.delete(jobs);
    const due_in_ms = 20_000;
    const job = {
      kind: "gateway.probe",
      payload: { gateway_id: crypto.randomUUID() },
      run_at: new Date(Date.now() + due_in_ms),
      sent_at: new Date(),
      max_attempts: 1,
    };
    await db.insert(jobs).values(Array.from({ length: JOBS }, () => job));
    // A process takes all wake-ups when it starts, so only this process knows them now.
    const ending = await cluster.start();
    await vi.waitUntil(async () => (await count(isNull(jobs.sent_at))) === 0, WAIT);
    await cluster.end(ending, signal);
    const ended = Date.now();
    await vi.waitUntil(async () => (await count(eq(jobs.status, "done"))) === JOBS, WAIT);
    const late_ms = Date.now() - Math.max(ended, job.run_at.getTime());
    task.meta.summary = { what: `held by a process, ${signal}`, seconds_after_its_end: seconds(Date.now() - ended) };
    expect(late_ms).toBeLessThan(MINUTE_MS);
  },
);

test("a job that ran in a killed process is run by another process within a minute", async ({ task }) => {
  const { db } = cluster.world;
  await db.delete(jobs);
  // A job as it is left when its worker is killed right after renewing the lease.
  await db.insert(jobs).values({
    kind: "gateway.probe",
    payload: { gateway_id: crypto.randomUUID() },
    status: "running",
    attempts: 1,
    run_at: new Date(),
    sent_at: new Date(),
    lease_until: new Date(Date.now() + 45_000),
    lease_token: crypto.randomUUID(),
    max_attempts: 1,
  });
  const killed = Date.now();
  await vi.waitUntil(async () => (await count(eq(jobs.status, "done"))) === 1, WAIT);
  task.meta.summary = { what: "running job", seconds_after_its_end: seconds(Date.now() - killed) };
  expect(Date.now() - killed).toBeLessThan(MINUTE_MS);
});

test("a scheduled run whose process was killed is started again by another process within a minute", async ({ task }) => {
  const { db } = cluster.world;
  const killed = Date.now();
  const turn = { name: "lifecycle", tick_at: new Date(), process_id: crypto.randomUUID(), ended_at: null };
  await db
    .insert(schedule_turns)
    .values(turn)
    .onConflictDoUpdate({ target: schedule_turns.name, set: { ...turn, renewed_at: sql`clock_timestamp()` } });
  // Other schedules run meanwhile.
  const isDone = and(eq(schedule_turns.name, turn.name), isNotNull(schedule_turns.ended_at));
  await vi.waitUntil(async () => (await db.$count(schedule_turns, isDone)) === 1, WAIT);
  task.meta.summary = { what: "tick of a schedule", seconds_after_its_end: seconds(Date.now() - killed) };
  expect(Date.now() - killed).toBeLessThan(MINUTE_MS);
});
