import { announcePresence, listProcesses } from "@board/core/process/presence";
import { processes } from "@board/core/schema/all-tables";
import { runScheduled, scheduled } from "@board/api/work/schedules";
import { sql } from "drizzle-orm";
import { expect, test } from "vitest";
import { setupWorld } from "../support/fixtures.ts";

const world = await setupWorld();

test("a failed step of a schedule does not keep the later steps from running, and the log names the failure", async () => {
  const ctx = world.context();
  await announcePresence(ctx, { id: crypto.randomUUID(), name: "gone" });
  await world.db.update(processes).set({ seen_at: sql`clock_timestamp() - interval '1 hour'` });
  await world.db.execute(sql`alter table sync_runs rename to away`);
  await expect(runScheduled(ctx, "retention")).rejects.toThrow("sync_runs");
  await world.db.execute(sql`alter table away rename to sync_runs`);
  expect(world.log.filter(({ event }) => event === "schedule.failed")).toMatchObject([
    { schedule: "retention", message: 'relation "sync_runs" does not exist' },
  ]);
  expect([await world.db.$count(processes), await listProcesses(ctx)]).toEqual([0, []]);
  await scheduled.retention(ctx);
});
