import { jobs } from "@board/core/schema/all-tables";
import { eq, isNull } from "drizzle-orm";
import { afterAll, beforeEach, expect, test, vi } from "vitest";
import { openServerWorld } from "../support/postgres-world.ts";
import { cleanUpPrograms } from "../support/program.ts";
import { startServerProcess } from "../support/server-process.ts";

const JOBS = 5;
/**
 * Long enough until another process does the jobs. Processes look for such jobs every 30 seconds, and a killed process counts as
 * ended when it was not seen for a minute.
 */
const WAIT = { timeout: 150_000, interval: 200 };

afterAll(async () => {
  await cleanUpPrograms();
  await shared.close();
});
beforeEach(() => shared.world.db.delete(jobs));

const start = () =>
  startServerProcess({ issuer: shared.world.identities.issuer, environment: { DATABASE_URL: shared.url, LOG_LEVEL: "error" } });

const shared = await openServerWorld();
await start();

const count = (condition: Parameters<typeof shared.world.db.$count>[1]) => shared.world.db.$count(jobs, condition);

test.each(["SIGTERM", "SIGKILL"] as const)(
  "the jobs of a process that ends by %s are done by another process on the database",
  { timeout: 240_000 },
  async (signal) => {
    const gateway_id = crypto.randomUUID();
    const run_at = new Date(Date.now() + 15_000);
    // A process sends all wake-ups again when it starts, so this process now holds the wake-ups.
    const probe = { kind: "gateway.probe", payload: { gateway_id }, run_at, sent_at: new Date(), max_attempts: 1 };
    await shared.world.db.insert(jobs).values(Array.from({ length: JOBS }, () => probe));
    const ending = await start();
    await vi.waitUntil(async () => (await count(isNull(jobs.sent_at))) === 0, WAIT);
    await ending.stop(signal);
    expect(await count(eq(jobs.status, "queued"))).toBe(JOBS);
    await vi.waitUntil(async () => (await count(eq(jobs.status, "done"))) === JOBS, WAIT);
  },
);
