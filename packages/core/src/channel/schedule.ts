import { and, eq, inArray, sql } from "drizzle-orm";
import type { Alert } from "../context/alert.ts";
import type { Context } from "../context/context.ts";
import { enqueueAll, type NewJob } from "../job/job.ts";
import { toPreferences, whenToTell } from "../people/preferences.ts";
import { channel_deliveries, channels } from "../schema/channel.sql.ts";
import { users } from "../schema/organization.sql.ts";
import { notification_preferences, user_notifications } from "../schema/people.sql.ts";

const MINUTE_MS = 60_000;

interface StoredNotification {
  id: string;
  user_id: string;
}

/** The job that sends what is due by e-mail. An organization's jobs run one after the other. */
const emailJob = (organization_id: string): NewJob<"people.email"> => ({
  kind: "people.email",
  payload: { organization_id },
  options: { organization_id, lane: `email:${organization_id}` },
});

/** The same at a later time. One job serves all that is due within its minute. */
export function laterEmailJob(organization_id: string, due_at: Date): NewJob<"people.email"> {
  const minute = Math.floor(due_at.getTime() / MINUTE_MS) + 1;
  const options = { organization_id, dedupe_key: `email:${organization_id}:${minute}`, run_at: new Date(minute * MINUTE_MS) };
  return { kind: "people.email", payload: { organization_id }, options };
}

/**
 * Stores when and how new notifications are sent, in the caller's transaction. The same about the same within a minute is sent
 * once.
 */
export async function scheduleDeliveries(ctx: Context, alert: Alert, stored: readonly StoredNotification[]): Promise<void> {
  if (!ctx.mail || stored.length === 0) return;
  const now = ctx.now();
  const rows = (await readRecipients(ctx, stored)).flatMap(({ channel_id, notification_id, row, zone }) => {
    const when = whenToTell(now, toPreferences(row, zone), alert.type, "email");
    return when ? [{ channel_id, notification_id, ...when }] : [];
  });
  if (rows.length === 0) return;
  const { organization_id, type, subject_id } = alert;
  await ctx.db.execute(sql`insert into ${channel_deliveries} (created_at, organization_id, channel_id, notification_id, type, is_digest, due_at)
    select ${now.toISOString()}::timestamptz, ${organization_id}, given.channel_id, given.notification_id, 'email', given.is_digest, given.due_at
    from json_to_recordset(${JSON.stringify(rows)}::json) as given(channel_id uuid, notification_id uuid, is_digest boolean, due_at timestamptz)
    where not exists (select 1 from ${channel_deliveries} as other
      join ${user_notifications} as notification on notification.id = other.notification_id
      where other.channel_id = given.channel_id and notification.type = ${type} and notification.subject_id = ${subject_id}
        and other.created_at > ${new Date(now.getTime() - MINUTE_MS).toISOString()}::timestamptz)
    on conflict do nothing`);
  const later = rows.filter(({ due_at }) => due_at > now).map(({ due_at }) => laterEmailJob(organization_id, due_at));
  await enqueueAll(ctx, [...(rows.length > later.length ? [emailJob(organization_id)] : []), ...onePerMinute(later)]);
}

const onePerMinute = (jobs: readonly NewJob<"people.email">[]) => [
  ...new Map(jobs.map((job) => [job.options.dedupe_key, job])).values(),
];

/** The active e-mail channels of people. A person with an address has one, until the person switches it off. */
async function readRecipients(ctx: Context, stored: readonly StoredNotification[]) {
  const user_ids = stored.map(({ user_id }) => user_id);
  await ctx.db.execute(sql`insert into ${channels} (user_id, type)
    select person.id, 'email' from ${users} as person
    where person.id = any(${sql.param(user_ids)}::uuid[]) and person.email is not null
    on conflict do nothing`);
  const rows = await ctx.db
    .select({ channel_id: channels.id, user_id: users.id, zone: users.timezone, row: notification_preferences })
    .from(channels)
    .innerJoin(users, eq(users.id, channels.user_id))
    .leftJoin(notification_preferences, eq(notification_preferences.user_id, users.id))
    .where(and(inArray(users.id, user_ids), eq(channels.type, "email"), channels.active));
  const ids = new Map(stored.map(({ id, user_id }) => [user_id, id]));
  return rows.map((row) => ({ ...row, notification_id: ids.get(row.user_id)! }));
}
