import { and, eq, inArray, isNull, or, sql } from "drizzle-orm";
import type { Alert } from "../context/alert.ts";
import type { Context } from "../context/context.ts";
import { enqueueAll, type NewJob } from "../job/job.ts";
import { toPreferences, whenToTell } from "../people/preferences.ts";
import { channel_deliveries, channels } from "../schema/channel.sql.ts";
import { users } from "../schema/organization.sql.ts";
import { notification_preferences, user_notifications } from "../schema/people.sql.ts";
import { MINUTE_MS } from "../values/time.ts";
import type { ChannelJob, ChannelKind } from "./kind.ts";

interface StoredNotification {
  id: string;
  user_id: string;
}

/**
 * Returns the job that sends an organization's due notifications on a channel. Jobs of the same organization and channel run one
 * after the other.
 */
export const dueJob = ({ type, job }: ChannelKind, organization_id: string): NewJob<ChannelJob> => ({
  kind: job,
  payload: { organization_id },
  options: { organization_id, lane: `${type}:${organization_id}` },
});

/** Returns a job that sends later. One job serves all notifications that are due within the same minute. */
export function laterDueJob({ type, job }: ChannelKind, organization_id: string, due_at: Date): NewJob<ChannelJob> {
  const minute = Math.floor(due_at.getTime() / MINUTE_MS) + 1;
  const options = { organization_id, dedupe_key: `${type}:${organization_id}:${minute}`, run_at: new Date(minute * MINUTE_MS) };
  return { kind: job, payload: { organization_id }, options };
}

export const onePerMinute = (jobs: readonly NewJob<ChannelJob>[]) => [
  ...new Map(jobs.map((job) => [job.options.dedupe_key, job])).values(),
];

/** Stores when and how new notifications are sent by each kind of channel, in the caller's transaction. */
export const scheduleDeliveries =
  (kinds: readonly ChannelKind[]) =>
  async (ctx: Context, alert: Alert, stored: readonly StoredNotification[]): Promise<void> => {
    if (stored.length === 0) return;
    for (const kind of kinds) if (kind.isOn(ctx)) await scheduleBy(ctx, kind, alert, stored);
  };

/**
 * Schedules new notifications on one kind of channel. Of several notifications of the same type about the same subject within a
 * minute, only the first is sent.
 */
async function scheduleBy(ctx: Context, kind: ChannelKind, alert: Alert, stored: readonly StoredNotification[]): Promise<void> {
  const now = ctx.now();
  const { organization_id, type, subject_id } = alert;
  const recipients = await readRecipients(ctx, kind, organization_id, stored);
  const rows = recipients.flatMap(({ channel_id, notification_id, row, zone }) => {
    const when = whenToTell(now, toPreferences(row, zone), type, kind.type);
    return when ? [{ channel_id, notification_id, ...when }] : [];
  });
  if (rows.length === 0) return;
  await ctx.db.execute(sql`insert into ${channel_deliveries} (created_at, organization_id, channel_id, notification_id, type, is_digest, due_at)
    select ${now.toISOString()}::timestamptz, ${organization_id}, given.channel_id, given.notification_id, ${kind.type},
      given.is_digest, given.due_at
    from json_to_recordset(${JSON.stringify(rows)}::json) as given(channel_id uuid, notification_id uuid, is_digest boolean, due_at timestamptz)
    where not exists (select 1 from ${channel_deliveries} as other
      join ${user_notifications} as notification on notification.id = other.notification_id
      where other.channel_id = given.channel_id and notification.type = ${type} and notification.subject_id = ${subject_id}
        and other.created_at > ${new Date(now.getTime() - MINUTE_MS).toISOString()}::timestamptz)
    on conflict do nothing`);
  const later = rows.filter(({ due_at }) => due_at > now).map(({ due_at }) => laterDueJob(kind, organization_id, due_at));
  await enqueueAll(ctx, [...(rows.length > later.length ? [dueJob(kind, organization_id)] : []), ...onePerMinute(later)]);
}

/** Finds the active channels on which people get notifications of the organization. */
async function readRecipients(ctx: Context, kind: ChannelKind, organization_id: string, stored: readonly StoredNotification[]) {
  const ids = new Map(stored.map(({ id, user_id }) => [user_id, id]));
  const user_ids = [...ids.keys()];
  await kind.addChannels?.(ctx, organization_id, user_ids);
  const rows = await ctx.db
    .select({ channel_id: channels.id, user_id: users.id, zone: users.timezone, row: notification_preferences })
    .from(channels)
    .innerJoin(users, eq(users.id, channels.user_id))
    .leftJoin(notification_preferences, eq(notification_preferences.user_id, users.id))
    .where(
      and(
        inArray(users.id, user_ids),
        eq(channels.type, kind.type),
        channels.active,
        or(isNull(channels.organization_id), eq(channels.organization_id, organization_id)),
      ),
    );
  return rows.map((row) => ({ ...row, notification_id: ids.get(row.user_id)! }));
}
