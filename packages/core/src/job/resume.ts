import { and, eq, gt, inArray, isNull, lt, sql } from "drizzle-orm";
import type { Context } from "../context/context.ts";
import { addPendingWakeup } from "../context/pending-wakeups.ts";
import { jobs } from "../schema/job.sql.ts";
import { type JobKind, RESUMED_KINDS } from "./kinds.ts";
import { redriveJobs, reviveJobs } from "./redrive.ts";
import { MAX_CRASHES } from "./outcome.ts";

/**
 * Resumes the jobs of a gateway whose host accepts the service again: dead jobs of `RESUMED_KINDS`, jobs that wait for a retry,
 * and jobs that died because the host was unreachable. Crashed jobs stay dead. The caller must have locked the gateway.
 */
export async function resumeJobsOfGateway(ctx: Context, gateway_id: string): Promise<void> {
  const isOwn = eq(jobs.gateway_id, gateway_id);
  const dead = await ctx.db
    .select({ id: jobs.id })
    .from(jobs)
    .where(and(isOwn, eq(jobs.status, "dead"), inArray(jobs.kind, [...RESUMED_KINDS]), lt(jobs.crashes, MAX_CRASHES)));
  if (dead.length > 0)
    await redriveJobs(
      ctx,
      dead.map(({ id }) => id),
    );
  const isRetry = and(gt(jobs.attempts, 0), gt(jobs.run_at, ctx.now()), isNull(jobs.held_by));
  const waiting = await ctx.db
    .update(jobs)
    .set({ run_at: ctx.now(), sent_at: null })
    .where(and(isOwn, eq(jobs.status, "queued"), inArray(jobs.kind, [...RESUMED_KINDS, "agent.provision"]), isRetry))
    .returning({ id: jobs.id, lane: jobs.lane });
  for (const job of waiting) addPendingWakeup(ctx.pendingWakeups, job);
  await reviveJobs(ctx, gateway_id);
}

/** Deletes dead jobs of this kind that concern these agents, because a new job replaces them. */
export async function removeDeadJobs(ctx: Context, kind: JobKind, agent_ids: readonly string[]): Promise<void> {
  const isOfAgent = inArray(sql`${jobs.payload} ->> 'agent_id'`, [...agent_ids]);
  await ctx.db.delete(jobs).where(and(eq(jobs.status, "dead"), eq(jobs.kind, kind), isOfAgent));
}
