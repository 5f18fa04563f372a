import { randomUUID } from "node:crypto";
import { and, eq } from "drizzle-orm";
import type { Admin } from "../context/actor.ts";
import { type Context, transaction } from "../context/context.ts";
import { notFound } from "../values/errors.ts";
import { endJobs, releaseJobs, createJobs, claimJobs } from "../job/claim.ts";
import { FetchError } from "../context/http-client.ts";
import { type DiscoveredSkills, discoverSkills, PACK_LIMITS, toSyncFailure } from "./discover.ts";
import { skill_pack_syncs, skill_packs } from "../schema/skill-pack.sql.ts";
import {
  failPackSync,
  type PackRow,
  type PackSynced,
  type PackSyncRun,
  type PackSyncRow,
  toPackSyncRun,
} from "./pack-sync-run.ts";
import { storeSkills } from "./store-skills.ts";

/** Milliseconds after which the request returns even if the sync is still running, because API Gateway times out after 29 s. */
const ANSWER_MS = 20_000;
/** Timers may fire a few milliseconds early. */
const TIMER_SLACK_MS = 50;

interface FoundOrCreatedRun {
  run: PackSyncRow;
  pack: PackRow;
  /** Null if the run already existed, because another request or job is working on it. */
  job_id: string | null;
}

/** Starts a sync in the background and returns its run. If the pack is already being synced, it returns that run. */
export async function startPackSync(ctx: Context<Admin>, pack_id: string): Promise<PackSyncRun> {
  return toPackSyncRun((await findOrCreateRun(ctx, pack_id, true)).run);
}

/**
 * Syncs a pack while the caller waits (docs/reference/skills.md#sync-of-a-pack). The run and its job are stored first, so that a
 * worker completes the run after a timeout or crash. A pack has only one run at a time, and concurrent requests return this run.
 */
export async function syncPack(
  ctx: Context<Admin>,
  pack_id: string,
  answer_ms: number = ANSWER_MS,
): Promise<PackSynced | PackSyncRun> {
  const { run, pack, job_id } = await findOrCreateRun(ctx, pack_id, false);
  if (job_id === null || (await claimJobs(ctx, [job_id])).length === 0) return toPackSyncRun(run);
  const deadline = performance.now() + answer_ms;
  let discovered: DiscoveredSkills;
  try {
    discovered = await discoverSkills(ctx.http, pack, { ...PACK_LIMITS, total_ms: answer_ms });
  } catch (error) {
    if (isTimeout(error) && performance.now() >= deadline - TIMER_SLACK_MS) {
      await releaseJobs(ctx, [job_id]);
      return toPackSyncRun(run);
    }
    const failure = toSyncFailure(error);
    if (!failure) throw error;
    await endJobWith(ctx, job_id, (ctx) => failPackSync(ctx, run.id, failure.message));
    throw failure;
  }
  const synced = await endJobWith(ctx, job_id, (ctx) => storeSkills(ctx, { run_id: run.id, pack }, discovered));
  return synced ?? getPackSync(ctx, pack_id, run.id);
}

export async function getPackSync(ctx: Context<Admin>, pack_id: string, run_id: string): Promise<PackSyncRun> {
  const [row] = await ctx.db
    .select({ run: skill_pack_syncs })
    .from(skill_pack_syncs)
    .innerJoin(skill_packs, eq(skill_packs.id, skill_pack_syncs.pack_id))
    .where(and(eq(skill_pack_syncs.id, run_id), isOwnPack(ctx, pack_id)));
  if (!row) throw notFound();
  return toPackSyncRun(row.run);
}

const isOwnPack = (ctx: Context<Admin>, pack_id: string) =>
  and(eq(skill_packs.id, pack_id), eq(skill_packs.organization_id, ctx.actor.active.organization_id));

/** Returns the running sync of the pack, or a new run with its job. The lock on the pack's row prevents two new runs. */
function findOrCreateRun(ctx: Context<Admin>, pack_id: string, queued: boolean): Promise<FoundOrCreatedRun> {
  return transaction(ctx, async (ctx) => {
    const [pack] = await ctx.db.select().from(skill_packs).where(isOwnPack(ctx, pack_id)).for("no key update");
    if (!pack) throw notFound();
    const [running] = await ctx.db
      .select()
      .from(skill_pack_syncs)
      .where(and(eq(skill_pack_syncs.pack_id, pack_id), eq(skill_pack_syncs.status, "running")));
    if (running) return { run: running, pack, job_id: null };
    const [run] = await ctx.db.insert(skill_pack_syncs).values({ pack_id }).returning();
    const job = { id: randomUUID(), lane: `pack/${pack_id}`, payload: { run_id: run!.id }, secret: null };
    const { organization_id } = pack;
    await createJobs(ctx, "pack.sync", [job], { organization_id, gateway_id: null, queued });
    return { run: run!, pack, job_id: job.id };
  });
}

/**
 * Ends the job that this request has claimed and stores the result of the job, in one transaction. Does nothing and returns null if
 * a worker has taken the job over, because the worker stores its own result.
 */
const endJobWith = <T>(ctx: Context<Admin>, job_id: string, write: (ctx: Context<Admin>) => Promise<T>): Promise<T | null> =>
  transaction(ctx, async (ctx) => ((await endJobs(ctx, [job_id])).length > 0 ? write(ctx) : null));

const isTimeout = (error: unknown) => error instanceof FetchError && error.problem === "timeout";
