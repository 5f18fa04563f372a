import { and, eq, gt, inArray, isNull, lte, or, sql } from "drizzle-orm";
import { insertEvents } from "../activity/activity.ts";
import { storeAlerts } from "../alert/alert-job.ts";
import type { Alert } from "../context/alert.ts";
import type { System } from "../context/actor.ts";
import { type Context, transaction } from "../context/context.ts";
import { runWrite } from "../db/prepared-write.ts";
import { api_keys } from "../schema/key.sql.ts";
import { users } from "../schema/organization.sql.ts";
import { addMs, DAY_MS } from "../values/time.ts";
import { oneLine } from "../values/wire.ts";

/** How many days before the expiry of a key its creator and the admins are notified. */
const WARNINGS = [2, 14] as const;
const BATCH = 500;

/** Records an event for each key that expires soon, once for each of the warnings. */
export async function warnOfExpiringKeys(ctx: Context<System>): Promise<void> {
  for (const days of WARNINGS) while ((await warnOnce(ctx, days)) === BATCH) continue;
}

/**
 * Records an event for each key that expires within `days`. A key that was created shortly before it expires gets only one of the
 * two warnings.
 */
function warnOnce(ctx: Context<System>, days: number): Promise<number> {
  const now = ctx.now();
  const isDue = and(
    gt(api_keys.expires_at, now),
    lte(api_keys.expires_at, addMs(now, days * DAY_MS)),
    or(isNull(api_keys.warned_days), gt(api_keys.warned_days, days)),
  );
  return transaction(ctx, async (ctx) => {
    const due = ctx.db.select({ id: api_keys.id }).from(api_keys).where(isDue).limit(BATCH).for("update", { skipLocked: true });
    const rows = await ctx.db
      .update(api_keys)
      .set({ warned_days: days, updated_at: sql`${api_keys.updated_at}` })
      .from(users)
      .where(and(inArray(api_keys.id, due), eq(users.id, api_keys.id)))
      .returning({
        id: api_keys.id,
        organization_id: api_keys.organization_id,
        user_id: api_keys.created_by_user_id,
        prefix: api_keys.prefix,
        expires_at: api_keys.expires_at,
        name: users.name,
      });
    const toAlert = ({ id, organization_id, expires_at }: (typeof rows)[number]): Alert => ({
      type: "key.expires_soon",
      organization_id,
      board_id: null,
      task_id: null,
      subject_id: id,
      key: `key.expires_soon:${id}:${days}:${expires_at!.toISOString()}`,
      actor: { type: "system", id: null },
    });
    const events = rows.map(({ organization_id, user_id, ...key }) => ({
      event_type: "key.expires_soon" as const,
      organization_id,
      user_id,
      message: toWarning(key),
    }));
    if (events.length > 0) await runWrite(ctx, insertEvents(events));
    await storeAlerts(ctx, rows.map(toAlert));
    return rows.length;
  });
}

const toWarning = ({ name, prefix, expires_at }: { name: string | null; prefix: string; expires_at: Date | null }): string =>
  `Key "${oneLine(name ?? "")}" (${prefix}…) ends on ${expires_at!.toISOString()}. Rotate it with a later end, or its program stops.`;
