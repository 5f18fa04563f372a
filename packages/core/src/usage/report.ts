import { randomUUID } from "node:crypto";
import { isStopping } from "../budget/reached.ts";
import { lockBudgets, spend } from "../budget/spend.ts";
import type { Agent } from "../context/actor.ts";
import { type Context, FinalWrites, transaction } from "../context/context.ts";
import { requireInRunScope } from "../context/run-scope.ts";
import { countOfDay } from "../db/rate-limit.ts";
import { DomainError } from "../values/errors.ts";
import { addMs, DAY_MS } from "../values/time.ts";
import type { ReportedUsage, ReportUsage, UsageEntry, UsageOfCall } from "./entry.ts";
import { enforceBudgets } from "./limit.ts";
import { listPlaces } from "./place.ts";
import { type PlacedEntry, storeEntries } from "./store.ts";

/** How long keys are remembered. A repeat of an older entry could be counted twice. */
export const MAX_AGE_MS = 7 * DAY_MS;

/** Counts what an agent used (docs/reference/usage.md). The request may be repeated, because each key is counted only once. */
export async function reportUsage(ctx: Context<Agent>, { entries: sent }: ReportUsage): Promise<ReportedUsage> {
  const entries = sent.map((entry) => inRunOf(ctx.actor, entry));
  const places = await listPlaces(ctx, entries);
  const placed = entries.map((entry, index) => ({ ...entry, ...places[index]!, at: timeOf(ctx, entry) }));
  const distinct = firstOfEachKey(placed);
  await requireRoomOfDay(ctx, distinct.length);
  const { stored, reached } = await transaction(ctx, async (ctx) => {
    if (ctx.actor.has_budgets) return countInBudgets(ctx, distinct);
    return new FinalWrites(async () => ({ stored: await storeEntries(ctx, distinct), reached: [] }));
  });
  const accepted = stored.reduce((sum, row) => sum + row.entries, 0);
  const exhausted_budget_ids = reached.filter(isStopping).map(({ id }) => id);
  return { ok: true, accepted, repeated: entries.length - accepted, exhausted_budget_ids };
}

/** Of the entries of a request that have the same key, keeps only the first. */
export const firstOfEachKey = (entries: readonly PlacedEntry[]): PlacedEntry[] =>
  [...new Map(entries.toReversed().map((entry) => [entry.key, entry])).values()].toReversed();

/** Counts entries toward the organization's daily limit. Throws `limited` above the limit. */
export const requireRoomOfDay = (ctx: Context<Agent>, entries: number): Promise<void> =>
  countOfDay(
    ctx,
    "organization_usage_entries_per_day",
    ctx.actor.organization_id,
    (limit) => `The organization has reported ${limit} usage entries today. Send these again tomorrow, or sum up several in one.`,
    entries,
  );

/**
 * Stores the entries and adds them to the budgets. If a budget reaches its limit, all runs under it are stopped in the same
 * transaction. The budgets are locked first, so that reports of other agents wait before they lock their tasks.
 */
export async function countInBudgets(ctx: Context<Agent>, entries: readonly PlacedEntry[]) {
  await lockBudgets(ctx, entries);
  const stored = await storeEntries(ctx, entries);
  const reached = await spend(ctx, stored);
  await enforceBudgets(ctx, ctx.actor.organization_id, reached, stored);
  return { stored, reached };
}

/** Assigns all usage to the run if the agent uses a run token. */
function inRunOf(actor: Agent, entry: UsageEntry): UsageEntry {
  requireInRunScope(actor, { run_id: entry.run_id, task_id: entry.task_id });
  return actor.run ? { ...entry, run_id: actor.run.run_id } : entry;
}

/** Counts usage that an agent sends together with a change of a task. */
export async function reportUsageOfCall(ctx: Context<Agent>, task_id: string, { key, ...usage }: UsageOfCall): Promise<void> {
  await reportUsage(ctx, { entries: [{ key: key ?? randomUUID(), run_id: null, task_id, ...usage }] });
}

function timeOf(ctx: Context, { at, key }: UsageEntry): Date {
  const now = ctx.now();
  if (at === undefined || at > now) return now;
  if (at >= addMs(now, -MAX_AGE_MS)) return at;
  throw new DomainError(
    "invalid",
    `The entry with the key "${key}" is older than seven days. No entry was counted: send the others again without it.`,
    { fields: { code: "usage_entry_too_old", key } },
  );
}
