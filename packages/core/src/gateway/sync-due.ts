import { and, asc, inArray, isNotNull, lte, sql } from "drizzle-orm";
import type { Context } from "../context.ts";
import { gateways } from "./gateway.sql.ts";
import type { GatewayRow } from "./target.ts";

/** How far from its interval a sync may be, either way, so that gateways which were set at once do not stay together. */
const JITTER = 0.1;

/** When a gateway whose interval was set just now is synced first: any time within it. */
export const firstSyncDue = (now: Date, interval_minutes: number | null): Date | null =>
  interval_minutes === null ? null : new Date(now.getTime() + Math.random() * interval_minutes * 60_000);

/**
 * Takes gateways that are due for a sync, and moves them on, in the caller's transaction, which begins their syncs. However
 * late a gateway is, it is taken once. Several takers share them.
 */
export function takeDueForSync(ctx: Context, limit: number): Promise<GatewayRow[]> {
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
      // That a sync is due changes nothing that people set.
      updated_at: sql`${gateways.updated_at}`,
    })
    .where(inArray(gateways.id, due))
    .returning();
}
