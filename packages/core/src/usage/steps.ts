import type { Agent } from "../context/actor.ts";
import { type Context, transaction } from "../context/context.ts";
import type { PostSteps, SentStep, StoredSteps } from "../run/steps/step.ts";
import { storeSteps } from "../run/steps/store.ts";
import { addMs } from "../values/time.ts";
import { Amounts } from "./entry.ts";
import { readPlaceOfRun } from "./place.ts";
import { countInBudgets, firstOfEachKey, MAX_AGE_MS, requireRoomOfDay } from "./report.ts";
import { type PlacedEntry, storeEntries } from "./store.ts";

/**
 * Stores steps of a run and, in the same transaction, counts the steps of the kind `usage`, each key once. They are counted even if
 * the run is full and drops the steps, because the tokens were used anyway.
 */
export async function storeStepsWithUsage(ctx: Context<Agent>, run_id: string, sent: PostSteps): Promise<StoredSteps> {
  if (!sent.steps.some(isUsage)) return storeSteps(ctx, run_id, sent);
  const place = await readPlaceOfRun(ctx, run_id);
  const used = sent.steps.flatMap((step, index): PlacedEntry[] => {
    if (!isUsage(step)) return [];
    const key = step.key ?? `step:${run_id}:${sent.from + index}`;
    return [{ ...Amounts.parse(step), ...place, key, at: timeOf(ctx, step) }];
  });
  const entries = firstOfEachKey(used);
  await requireRoomOfDay(ctx, entries.length);
  return transaction(ctx, async (ctx) => {
    // The usage is counted before the steps are stored, because budgets and tasks are locked before runs.
    await (ctx.actor.has_budgets ? countInBudgets(ctx, entries) : storeEntries(ctx, entries));
    return storeSteps(ctx, run_id, sent);
  });
}

const isUsage = (step: SentStep): step is SentStep & { kind: "usage"; key?: string } => step.kind === "usage";

/**
 * Returns the time at which the usage of a step is counted. Steps of any age are accepted, so an old step is counted on the oldest
 * day to which usage may still be added.
 */
function timeOf(ctx: Context, { at }: SentStep): Date {
  const now = ctx.now();
  if (at === undefined || at > now) return now;
  return new Date(Math.max(at.getTime(), addMs(now, -MAX_AGE_MS).getTime()));
}
