import { isIP } from "node:net";
import { and, eq, sql, type SQLWrapper } from "drizzle-orm";
import type { Context } from "../context/context.ts";
import { DomainError } from "../values/errors.ts";
import type { BudgetName } from "../config/budgets.ts";
import { DAY_MS } from "../values/time.ts";
import { reportLimit } from "../values/request-limits.ts";
import { rate_counters } from "../schema/rate-limit.sql.ts";

const MINUTE_MS = 60_000;

export const startOfMinute = (now: Date) => new Date(Math.floor(now.getTime() / MINUTE_MS) * MINUTE_MS);

/** Adds `by` to a counter of this clock minute, which all processes share, and returns the new count. */
export async function incrementCounter(ctx: Context, scope: string, key: string, by = 1): Promise<number> {
  const [row] = await incrementCounters(ctx, scope, [key], by);
  return row?.count ?? by;
}

/** Counts a request against a limit per clock minute, and throws `limited` above that. A limit of 0 means no limit. */
export async function countRequest(ctx: Context, name: BudgetName, scope: string, key: string): Promise<void> {
  const limit = ctx.settings.budgets[name];
  if (limit === 0) return;
  const count = await incrementCounter(ctx, scope, key);
  reportMinuteLimit(ctx, name, limit, count);
  if (count > limit) throw rateLimited(ctx);
}

const DAY_SECONDS = DAY_MS / 1000;

/**
 * Adds `by` to a count with a limit per UTC day. Above the limit, it throws `limited` with the text of `toDetail`. The counter is
 * stored under the end of its day, so that the retention does not remove it earlier.
 */
export async function countOfDay(
  ctx: Context,
  name: BudgetName,
  key: string,
  toDetail: (limit: number) => string,
  by = 1,
): Promise<void> {
  const quota = ctx.settings.budgets[name];
  if (quota === 0) return;
  const now = ctx.now().getTime();
  const end = Math.floor(now / DAY_MS + 1) * DAY_MS;
  const [row] = await addToCounters(ctx, name, [key], new Date(end), by);
  const reset_seconds = Math.ceil((end - now) / 1000);
  const remaining = Math.max(0, quota - row!.count);
  reportLimit(ctx.limits, { name, quota, window_seconds: DAY_SECONDS, remaining, reset_seconds });
  if (row!.count > quota) throw new DomainError("limited", toDetail(quota), { retry_after_seconds: reset_seconds });
}

/** Records how much of a limit per clock minute is used, for the rate limit headers of the answer. */
export const reportMinuteLimit = (ctx: Context, name: string, quota: number, count: number): void =>
  reportLimit(ctx.limits, {
    name,
    quota,
    window_seconds: MINUTE_MS / 1000,
    remaining: Math.max(0, quota - count),
    reset_seconds: secondsLeftOfMinute(ctx),
  });

/**
 * Adds `by` to several counters in one statement. Pass the keys in the same order everywhere; otherwise two statements can
 * deadlock.
 */
export const incrementCounters = (ctx: Context, scope: string, keys: readonly string[], by = 1): Promise<{ count: number }[]> =>
  addToCounters(ctx, scope, keys, startOfMinute(ctx.now()), by);

function addToCounters(ctx: Context, scope: string, keys: readonly string[], minute: Date, by = 1): Promise<{ count: number }[]> {
  return ctx.db
    .insert(rate_counters)
    .values(keys.map((key) => ({ scope, key, minute, count: by })))
    .onConflictDoUpdate({
      target: [rate_counters.scope, rate_counters.key, rate_counters.minute],
      set: { count: sql`${rate_counters.count} + ${by}` },
    })
    .returning({ count: rate_counters.count });
}

/** Returns an SQL expression for the value of a counter in a clock minute, for use in another query. */
export const counterValue = (scope: string, key: SQLWrapper, minute: SQLWrapper) =>
  sql<number>`coalesce((select ${rate_counters.count} from ${rate_counters} where ${rate_counters.scope} = ${scope}
    and ${rate_counters.key} = ${key} and ${rate_counters.minute} = ${minute}::timestamptz), 0)`;

/** Reverts one `incrementCounter` of the same clock minute. */
export async function decrementCounter(ctx: Context, scope: string, key: string): Promise<void> {
  await ctx.db
    .update(rate_counters)
    .set({ count: sql`${rate_counters.count} - 1` })
    .where(and(eq(rate_counters.scope, scope), eq(rate_counters.key, key), eq(rate_counters.minute, startOfMinute(ctx.now()))));
}

/** Returns the 429 error for a limit per clock minute. Its Retry-After is the time until the next minute. */
export function rateLimited(ctx: Context): DomainError {
  return new DomainError("limited", "Too Many Requests", { retry_after_seconds: secondsLeftOfMinute(ctx) });
}

const secondsLeftOfMinute = (ctx: Context): number => Math.ceil((MINUTE_MS - (ctx.now().getTime() % MINUTE_MS)) / 1000);

/**
 * Returns the key under which a client address is counted. For IPv6 it is the /64 network, because one client usually controls a
 * whole /64. `::/64` is an exception, because it contains the loopback address and all IPv4-mapped addresses.
 */
export function toCounterKey(address: string): string {
  if (isIP(address) !== 6) return address;
  const groups = new URL(`http://[${address}]`).hostname.slice(1, -1).split("::");
  const [head = [], tail = []] = groups.map((part) => part.split(":").filter(Boolean));
  const zeros = Array.from({ length: IPV6_GROUPS - head.length - tail.length }, () => "0");
  const network = [...head, ...zeros, ...tail].slice(0, NETWORK_GROUPS).join(":");
  return network === "0:0:0:0" ? address : `${network}::/64`;
}

const IPV6_GROUPS = 8;
const NETWORK_GROUPS = 4;
