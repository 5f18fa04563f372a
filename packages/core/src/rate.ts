import { and, eq, lt, sql } from "drizzle-orm";
import type { Context } from "./context.ts";
import { rate_counters } from "./db/operations.sql.ts";
import { DomainError } from "./errors.ts";

const KEEP_MS = 10 * 60_000;
const MINUTE_MS = 60_000;

const minuteOf = (now: Date) => new Date(Math.floor(now.getTime() / MINUTE_MS) * MINUTE_MS);

/** Adds one to a counter of this clock minute, shared by all processes, and returns the new count. */
export async function countUp(ctx: Context, scope: string, key: string): Promise<number> {
  const [row] = await ctx.db
    .insert(rate_counters)
    .values({ scope, key, minute: minuteOf(ctx.now()), count: 1 })
    .onConflictDoUpdate({
      target: [rate_counters.scope, rate_counters.key, rate_counters.minute],
      set: { count: sql`${rate_counters.count} + 1` },
    })
    .returning({ count: rate_counters.count });
  return row?.count ?? 1;
}

/** Takes one back that turned out not to count. */
export async function countDown(ctx: Context, scope: string, key: string): Promise<void> {
  await ctx.db
    .update(rate_counters)
    .set({ count: sql`${rate_counters.count} - 1` })
    .where(and(eq(rate_counters.scope, scope), eq(rate_counters.key, key), eq(rate_counters.minute, minuteOf(ctx.now()))));
}

/** The 429 of a counter: come back when the minute is over. */
export function tooMany(ctx: Context): DomainError {
  const left = MINUTE_MS - (ctx.now().getTime() % MINUTE_MS);
  return new DomainError("limited", "Too Many Requests", { retry_after_seconds: Math.ceil(left / 1000) });
}

export async function removeOldCounters(ctx: Context): Promise<void> {
  await ctx.db.delete(rate_counters).where(lt(rate_counters.minute, new Date(ctx.now().getTime() - KEEP_MS)));
}
