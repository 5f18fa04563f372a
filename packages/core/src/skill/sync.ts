import { randomUUID } from "node:crypto";
import { and, eq } from "drizzle-orm";
import type { Admin } from "../actor.ts";
import { type Context, transaction } from "../context.ts";
import { notFound } from "../errors.ts";
import { endJobs, releaseJobs, storeJobs, takeJobs } from "../job/batch.ts";
import { WebError } from "../web/web.ts";
import { type Collected, collectSkills, PACK_LIMITS, toFailure } from "./collect.ts";
import { skill_pack_syncs, skill_packs } from "./pack.sql.ts";
import { failRun, type PackRow, type PackSynced, type PackSyncRun, type RunRow, toRun } from "./run.ts";
import { storeCollected } from "./store.ts";

/** The answer comes in time, whatever is left; API Gateway gives up after 29 s. Milliseconds. */
const ANSWER_MS = 20_000;
/** Timers keep their time to a few milliseconds. */
const TIMER_SLACK_MS = 50;

/** A run that this request is to do, or that goes on without it. */
interface Opened {
  run: RunRow;
  pack: PackRow;
  job_id: string | null;
}

/** Has a pack synced by a job; returns the run that does it, which is the one under way if there is one. */
export async function startPackSync(ctx: Context<Admin>, pack_id: string): Promise<PackSyncRun> {
  return toRun((await openRun(ctx, pack_id, true)).run);
}

/**
 * Syncs a pack while somebody waits (contract skills-souls.md §2). The run and its job are stored before anything is
 * fetched: what is not done when the time is over, or when this process dies, a consumer does. There is one run of a pack at
 * a time; whoever asks meanwhile gets that one.
 */
export async function syncPack(
  ctx: Context<Admin>,
  pack_id: string,
  answer_ms: number = ANSWER_MS,
): Promise<PackSynced | PackSyncRun> {
  const { run, pack, job_id } = await openRun(ctx, pack_id, false);
  if (job_id === null || (await takeJobs(ctx, [job_id])).length === 0) return toRun(run);
  const deadline = performance.now() + answer_ms;
  let collected: Collected;
  try {
    collected = await collectSkills(ctx.web, pack, { ...PACK_LIMITS, total_ms: answer_ms });
  } catch (error) {
    if (isTimeout(error) && performance.now() >= deadline - TIMER_SLACK_MS) {
      await releaseJobs(ctx, [job_id]);
      return toRun(run);
    }
    const failure = toFailure(error);
    if (!failure) throw error;
    await endWith(ctx, job_id, (ctx) => failRun(ctx, run.id, failure.message));
    throw failure;
  }
  const synced = await endWith(ctx, job_id, (ctx) => storeCollected(ctx, { run_id: run.id, pack }, collected));
  return synced ?? getPackSync(ctx, pack_id, run.id);
}

export async function getPackSync(ctx: Context<Admin>, pack_id: string, run_id: string): Promise<PackSyncRun> {
  const [found] = await ctx.db
    .select({ run: skill_pack_syncs })
    .from(skill_pack_syncs)
    .innerJoin(skill_packs, eq(skill_packs.id, skill_pack_syncs.pack_id))
    .where(and(eq(skill_pack_syncs.id, run_id), ownPack(ctx, pack_id)));
  if (!found) throw notFound();
  return toRun(found.run);
}

const ownPack = (ctx: Context<Admin>, pack_id: string) =>
  and(eq(skill_packs.id, pack_id), eq(skill_packs.organization_id, ctx.actor.active.organization_id));

/** The run of the pack that is under way, else a new one with its job. The pack's row lets one request at a time decide. */
function openRun(ctx: Context<Admin>, pack_id: string, queued: boolean): Promise<Opened> {
  return transaction(ctx, async (ctx) => {
    const [pack] = await ctx.db.select().from(skill_packs).where(ownPack(ctx, pack_id)).for("no key update");
    if (!pack) throw notFound();
    const [present] = await ctx.db
      .select()
      .from(skill_pack_syncs)
      .where(and(eq(skill_pack_syncs.pack_id, pack_id), eq(skill_pack_syncs.status, "running")));
    if (present) return { run: present, pack, job_id: null };
    const [run] = await ctx.db.insert(skill_pack_syncs).values({ pack_id }).returning();
    const job = { id: randomUUID(), lane: `pack/${pack_id}`, payload: { run_id: run!.id }, secret: null };
    const { organization_id } = pack;
    await storeJobs(ctx, "pack.sync", [job], { organization_id, gateway_id: null, queued });
    return { run: run!, pack, job_id: job.id };
  });
}

/** Ends the job that this request has taken, together with what came of it. */
const endWith = <T>(ctx: Context<Admin>, job_id: string, write: (ctx: Context<Admin>) => Promise<T>): Promise<T> =>
  transaction(ctx, async (ctx) => {
    await endJobs(ctx, [job_id]);
    return write(ctx);
  });

const isTimeout = (error: unknown) => error instanceof WebError && error.problem === "timeout";
