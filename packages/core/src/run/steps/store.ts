import { sql } from "drizzle-orm";
import type { Agent } from "../../context/actor.ts";
import type { Context } from "../../context/context.ts";
import { actingAs } from "../../db/change-actor.ts";
import { rowsOf } from "../../db/database.ts";
import { toTimestamp } from "../../db/timestamp.ts";
import { run_steps, runs } from "../../schema/run.sql.ts";
import { DomainError } from "../../values/errors.ts";
import { recordAddition } from "../record-changes.ts";
import { lateSince, readOwnRun, requireOpen } from "../report.ts";
import { pack, prepareStep, type PreparedStep } from "./pack.ts";
import type { PostSteps, StoredSteps } from "./step.ts";

/** Limits for the stored steps of one run. A runaway agent reaches them in minutes, while long work stays far below. */
const RUN_LIMITS = { steps: 100_000, bytes: 52_428_800 };
/** Requests of one run conflict only if a client repeats a request that is still running. */
const MAX_ATTEMPTS = 5;

/**
 * Appends steps to a run. A repeated request stores nothing twice, and a request that would leave a gap is refused. Usually this
 * takes one statement, which compares the number of stored steps.
 */
export async function storeSteps(ctx: Context<Agent>, run_id: string, { from, steps }: PostSteps): Promise<StoredSteps> {
  const now = ctx.now();
  const prepared = steps.map((step) => prepareStep(step, now));
  let batch = { first: from, steps: prepared, is_last: false };
  for (let attempt = 1; attempt <= MAX_ATTEMPTS; attempt++) {
    if (await append(ctx, run_id, batch)) return { next: batch.first + batch.steps.length, full: batch.is_last };
    const run = await readOwnRun(ctx, run_id);
    requireOpen(ctx, run);
    if (run.steps_full) return { next: run.steps, full: true };
    if (from > run.steps) throw new DomainError("conflict", "Steps before these are missing.", { fields: { next: run.steps } });
    const rest = prepared.slice(run.steps - from);
    if (rest.length === 0) return { next: run.steps, full: false };
    const fitting = countFitting(rest, run);
    batch =
      fitting === rest.length
        ? { first: run.steps, steps: rest, is_last: false }
        : { first: run.steps, steps: [...rest.slice(0, fitting), lastStep(now)], is_last: true };
  }
  throw new DomainError("conflict", "Other steps of the run are being stored.", { retry_after_seconds: 1 });
}

function countFitting(rest: readonly PreparedStep[], { steps, step_bytes }: { steps: number; step_bytes: number }): number {
  let bytes = step_bytes;
  const index = rest.findIndex((step, at) => steps + at >= RUN_LIMITS.steps || (bytes += step.bytes) > RUN_LIMITS.bytes);
  return index === -1 ? rest.length : index;
}

const lastStep = (now: Date): PreparedStep =>
  prepareStep({ at: now, kind: "log", stream: "service", text: "The run is full: no more steps are stored." } as never, now);

interface Batch {
  first: number;
  steps: readonly PreparedStep[];
  /** Whether the run reaches its limit with this batch. */
  is_last: boolean;
}

/**
 * Appends a batch. Returns false if the number of stored steps is not `first`, the run can get no more steps, or the batch does not
 * fit.
 */
async function append(ctx: Context<Agent>, run_id: string, { first, steps, is_last }: Batch): Promise<boolean> {
  const body = await pack(steps);
  const count = steps.length;
  const bytes = steps.reduce((sum, step) => sum + step.bytes, 0);
  const fits = is_last
    ? sql`true`
    : sql`steps + ${count}::int <= ${RUN_LIMITS.steps} and step_bytes + ${bytes}::bigint <= ${RUN_LIMITS.bytes}`;
  const result = await ctx.db.execute(sql`
    with appended as (
      update ${runs} set steps = steps + ${count}::int, step_bytes = step_bytes + ${bytes}::bigint, steps_full = ${is_last}::boolean,
        ${recordAddition("steps", toTimestamp(ctx.now()))}
      where id = ${run_id} and agent_id = ${ctx.actor.agent_id} and steps = ${first}::int and not steps_full and ${fits}
        and (ended_at is null or ended_at >= ${toTimestamp(lateSince(ctx))}) and ${actingAs(ctx)}
      returning id)
    insert into ${run_steps} (run_id, first, count, body, body_bytes)
    select id, ${first}::int, ${count}::int, ${body}::bytea, ${body.byteLength}::int from appended returning first`);
  return rowsOf(result).length > 0;
}
