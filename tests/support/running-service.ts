import { createPendingWakeups } from "@board/core/context/pending-wakeups";
import { jobs } from "@board/core/schema/all-tables";
import { and, eq, inArray, notInArray } from "drizzle-orm";
import { setTimeout as pause } from "node:timers/promises";
import { startConsumer } from "../../packages/local/src/consumer.ts";
import { createWorld, type World, type WorldOptions } from "./world.ts";

/** The service with the consumer of `npm start`, which runs its jobs. */
export interface RunningService {
  world: World;
  /** Waits until all jobs of the organization are done. Throws when one is dead. */
  waitForJobs(organization_id: string, timeout_ms: number): Promise<void>;
  close(): Promise<void>;
}

/** Scheduled jobs, which are not waited for. */
const SCHEDULED_KINDS = ["agent.wake_check", "gateway.probe"];
const POLL_MS = 100;

export async function startRunningService(options?: WorldOptions): Promise<RunningService> {
  const world = await createWorld(options);
  const consumer = startConsumer(() => world.context());
  const timer = setInterval(() => consumer.requestRelay(createPendingWakeups(true)), POLL_MS);
  const jobsOf = (organization_id: string, status: ("queued" | "running" | "dead")[]) =>
    world.db
      .select()
      .from(jobs)
      .where(
        and(eq(jobs.organization_id, organization_id), inArray(jobs.status, status), notInArray(jobs.kind, SCHEDULED_KINDS)),
      );
  return {
    world,
    async waitForJobs(organization_id, timeout_ms) {
      const deadline = performance.now() + timeout_ms;
      for (;;) {
        const open = await jobsOf(organization_id, ["queued", "running"]);
        if (open.length === 0) break;
        if (performance.now() > deadline) throw new Error(`Jobs are not done: ${open.map(describe).join("; ")}`);
        await pause(POLL_MS);
      }
      const dead = await jobsOf(organization_id, ["dead"]);
      if (dead.length > 0) throw new Error(`Jobs are dead: ${dead.map(describe).join("; ")}`);
    },
    async close() {
      clearInterval(timer);
      await consumer.stop();
      await world.close();
    },
  };
}

const describe = ({ kind, attempts, last_error }: typeof jobs.$inferSelect) =>
  `${kind} after ${attempts} attempts: ${last_error}`;
