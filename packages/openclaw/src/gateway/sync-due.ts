import { and, asc, inArray, isNotNull, lte, sql } from "drizzle-orm";
import type { Context } from "@board/core/context/context";
import { gateways } from "@board/core/schema/gateway.sql";
import type { GatewayRow } from "@board/core/gateway/target";

/**
 * Random deviation of each interval in both directions, so that gateways that were set up together are not synced together
 * forever.
 */
const JITTER = 0.1;

/** Returns the time of the first sync after the interval was set: a random time within the interval. */
export const initialSyncDue = (now: Date, interval_minutes: number | null): Date | null =>
  interval_minutes === null ? null : new Date(now.getTime() + Math.random() * interval_minutes * 60_000);

/**
 * Claims gateways that are due for a sync and sets their next time, in the caller's transaction, which starts their syncs.
 * A gateway that is several intervals late is claimed once. Concurrent callers claim different gateways.
 */
export function claimGatewaysDueForSync(ctx: Context, limit: number): Promise<GatewayRow[]> {
  const now = ctx.now();
  const due = ctx.db
    .select({ id: gateways.id })
    .from(gateways)
    .where(and(lte(gateways.sync_due_at, now), isNotNull(gateways.sync_interval_minutes)))
    .orderBy(asc(gateways.sync_due_at))
    .limit(limit)
    .for("no key update", { skipLocked: true });
  const factor = sql`(1 + ${JITTER}::double precision * (2 * random() - 1))`;
  return ctx.db
    .update(gateways)
    .set({
      sync_due_at: sql`${now.toISOString()}::timestamptz + make_interval(secs => 60 * ${gateways.sync_interval_minutes} * ${factor})`,
      // A claim does not change the gateway's settings, so `updated_at` stays the same.
      updated_at: sql`${gateways.updated_at}`,
    })
    .where(inArray(gateways.id, due))
    .returning();
}
