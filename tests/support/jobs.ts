import { type Context, transaction } from "@board/core/context/context";
import { jobs } from "@board/core/schema/all-tables";
import { enqueue, type EnqueueOptions, type JobRow } from "@board/core/job/job";
import { relay, type WakeUp } from "@board/core/job/relay";
import { and, asc, eq, gt } from "drizzle-orm";
import type { Tenant, World } from "./world.ts";

/** Stores a job and returns its id. The job has no effect, because its payload does not exist. */
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
  return (await getPayloadJob(world, payload_id)).id;
}

/** Stores a notice to an agent of the gateway's host for each lane, and returns the ids of the jobs in that order. */
export async function addNotices(
  world: World,
  { organization_id, gateway_id }: { organization_id: string; gateway_id: string },
  lanes: readonly string[],
): Promise<string[]> {
  // Only notices of this gateway count, because a job of an earlier test may still run and add another notice, such as an alert.
  const isNotice = and(eq(jobs.kind, "notice"), eq(jobs.gateway_id, gateway_id));
  const before = new Set((await world.db.select({ id: jobs.id }).from(jobs).where(isNotice)).map(({ id }) => id));
  await transaction(world.context(), async (ctx: Context) => {
    for (const lane of lanes) {
      const payload = { gateway_id, session_key: `agent:${lane}:main`, label: lane, message: `Hello ${lane}`, deliver: false };
      await enqueue(ctx, "notice", payload, { organization_id, gateway_id, lane: `${gateway_id}/${lane}` });
    }
  });
  const all = await world.db.select({ id: jobs.id }).from(jobs).where(isNotice).orderBy(asc(jobs.seq));
  return all.map(({ id }) => id).filter((id) => !before.has(id));
}

/** Returns the job that notifies an agent of a payload. */
export async function getPayloadJob(world: World, payload_id: string): Promise<JobRow> {
  const all = await world.db.select().from(jobs);
  const match = all.find((job) => (job.payload as { payload_id?: string }).payload_id === payload_id);
  if (!match) throw new Error(`There is no job for payload ${payload_id}`);
  return match;
}

export async function getJob(world: World, id: string): Promise<JobRow> {
  const [job] = await world.db.select().from(jobs).where(eq(jobs.id, id));
  if (!job) throw new Error(`There is no job ${id}`);
  return job;
}

/** Returns the jobs that `work` creates, in the order of their creation. */
export async function listJobsCreatedBy(world: World, work: () => Promise<unknown>): Promise<JobRow[]> {
  const [last] = (await world.db.select({ seq: jobs.seq }).from(jobs).orderBy(asc(jobs.seq))).slice(-1);
  await work();
  return world.db
    .select()
    .from(jobs)
    .where(gt(jobs.seq, last?.seq ?? 0n))
    .orderBy(asc(jobs.seq));
}

/** Runs the relay once with a queue that accepts everything, and returns the wake-ups. */
export async function relayOnce(world: World): Promise<WakeUp[]> {
  const taken: WakeUp[] = [];
  await relay(world.context(), async (wakeUps) => {
    taken.push(...wakeUps);
    return { failed: [] };
  });
  return taken;
}
