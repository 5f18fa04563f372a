import { and, eq, lt, sql } from "drizzle-orm";
import type { Context } from "./context.ts";
import { DomainError } from "./errors.ts";
import { rate_counters } from "./rate-limit.sql.ts";

const RETENTION_MS = 10 * 60_000;
const MINUTE_MS = 60_000;

const startOfMinute = (now: Date) => new Date(Math.floor(now.getTime() / MINUTE_MS) * MINUTE_MS);

/** Adds one to a counter of this clock minute, shared by all processes, and returns the new count. */
export async function incrementCounter(ctx: Context, scope: string, key: string): Promise<number> {
  const [row] = await ctx.db
    .insert(rate_counters)
    .values({ scope, key, minute: startOfMinute(ctx.now()), count: 1 })
    .onConflictDoUpdate({
      target: [rate_counters.scope, rate_counters.key, rate_counters.minute],
      set: { count: sql`${rate_counters.count} + 1` },
    })
    .returning({ count: rate_counters.count });
  return row?.count ?? 1;
}

/** Undoes `incrementCounter` for something that turned out not to count. */
export async function decrementCounter(ctx: Context, scope: string, key: string): Promise<void> {
  await ctx.db
    .update(rate_counters)
    .set({ count: sql`${rate_counters.count} - 1` })
    .where(and(eq(rate_counters.scope, scope), eq(rate_counters.key, key), eq(rate_counters.minute, startOfMinute(ctx.now()))));
}

/** The 429 of a counter; Retry-After is the rest of the clock minute. */
export function rateLimited(ctx: Context): DomainError {
  const remaining_ms = MINUTE_MS - (ctx.now().getTime() % MINUTE_MS);
  return new DomainError("limited", "Too Many Requests", { retry_after_seconds: Math.ceil(remaining_ms / 1000) });
}

export async function removeOldCounters(ctx: Context): Promise<void> {
  await ctx.db.delete(rate_counters).where(lt(rate_counters.minute, new Date(ctx.now().getTime() - RETENTION_MS)));
}
