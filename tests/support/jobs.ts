import { type Context, transaction } from "@board/core/context";
import { jobs } from "@board/core/db/schema";
import { enqueue, type EnqueueOptions, type JobRow, relay, type WakeUp } from "@board/core/job/job";
import { asc, eq, gt } from "drizzle-orm";
import type { Tenant, World } from "./world.ts";

/** Stores a job that has nothing left to do: what it tells of is gone. Returns its id. */
export async function addJob(world: World, tenant: Tenant, options: Partial<EnqueueOptions> = {}): Promise<string> {
  const payload_id = crypto.randomUUID();
  await transaction(world.context(), (ctx: Context) =>
    enqueue(
      ctx,
      "webhook.notify",
      { board_id: tenant.board_id, webhook_id: crypto.randomUUID(), payload_id },
      { organization_id: tenant.organization_id, ...options },
    ),
  );
  return (await jobOf(world, payload_id)).id;
}

/** The job that tells of a payload. */
export async function jobOf(world: World, payload_id: string): Promise<JobRow> {
  const all = await world.db.select().from(jobs);
  const found = all.find((job) => (job.payload as { payload_id?: string }).payload_id === payload_id);
  if (!found) throw new Error(`No job tells of payload ${payload_id}`);
  return found;
}

export async function readJob(world: World, id: string): Promise<JobRow> {
  const [job] = await world.db.select().from(jobs).where(eq(jobs.id, id));
  if (!job) throw new Error(`There is no job ${id}`);
  return job;
}

/** The jobs that `work` leaves, in the order in which they were stored. */
export async function jobsLeftBy(world: World, work: () => Promise<unknown>): Promise<JobRow[]> {
  const [last] = (await world.db.select({ seq: jobs.seq }).from(jobs).orderBy(asc(jobs.seq))).slice(-1);
  await work();
  return world.db
    .select()
    .from(jobs)
    .where(gt(jobs.seq, last?.seq ?? 0n))
    .orderBy(asc(jobs.seq));
}

/** Relays once into a queue that takes everything; returns what it took. */
export async function relayOnce(world: World): Promise<WakeUp[]> {
  const taken: WakeUp[] = [];
  await relay(world.context(), async (wakeUps) => {
    taken.push(...wakeUps);
    return { failed: [] };
  });
  return taken;
}
