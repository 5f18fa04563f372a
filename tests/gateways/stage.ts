import { createOutbox } from "@board/core/outbox";
import { jobs } from "@board/core/db/schema";
import { and, eq, inArray, notInArray } from "drizzle-orm";
import { setTimeout as pause } from "node:timers/promises";
import { startConsumer } from "../../packages/local/src/consumer.ts";
import { createWorld, type World } from "../support/world.ts";

/** The service with its jobs being worked on, by the consumer that `npm start` has. */
export interface Stage {
  world: World;
  /** Waits until everything that the organization caused is done. Throws when something of it was given up. */
  settled(organization_id: string, patience_ms: number): Promise<void>;
  close(): Promise<void>;
}

/** These come by the clock. */
const BY_ITSELF = ["agent.wake_check", "gateway.probe"];
const LOOK_MS = 100;
/** Enough for the agents of several hosts at once, all of which wait most of the time. */
const CONCURRENCY = 16;

export async function openStage(): Promise<Stage> {
  const world = await createWorld();
  const consumer = startConsumer(() => world.context(), CONCURRENCY);
  const looking = setInterval(() => consumer.poke(createOutbox(true)), LOOK_MS);
  const jobsOf = (organization_id: string, status: ("queued" | "running" | "dead")[]) =>
    world.db
      .select()
      .from(jobs)
      .where(and(eq(jobs.organization_id, organization_id), inArray(jobs.status, status), notInArray(jobs.kind, BY_ITSELF)));
  return {
    world,
    async settled(organization_id, patience_ms) {
      const deadline = performance.now() + patience_ms;
      for (;;) {
        const open = await jobsOf(organization_id, ["queued", "running"]);
        if (open.length === 0) break;
        if (performance.now() > deadline) throw new Error(`Still to be done: ${open.map(describe).join("; ")}`);
        await pause(LOOK_MS);
      }
      const dead = await jobsOf(organization_id, ["dead"]);
      if (dead.length > 0) throw new Error(`Given up: ${dead.map(describe).join("; ")}`);
    },
    async close() {
      clearInterval(looking);
      await consumer.stop();
      await world.close();
    },
  };
}

const describe = ({ kind, attempts, last_error }: typeof jobs.$inferSelect) =>
  `${kind} after ${attempts} attempts: ${last_error}`;
