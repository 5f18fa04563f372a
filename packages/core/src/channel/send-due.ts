import { and, eq, gte, inArray, max, sql } from "drizzle-orm";
import type { Context } from "../context/context.ts";
import { rowsOf } from "../db/database.ts";
import type { JobHandler } from "../job/handler.ts";
import { notificationColumns } from "../people/notification-columns.ts";
import { mayBeSent } from "../people/notification-rights.ts";
import { quietUntil, toPreferences } from "../people/preferences.ts";
import { channel_deliveries, channels } from "../schema/channel.sql.ts";
import { users } from "../schema/organization.sql.ts";
import { notification_preferences, user_notifications } from "../schema/people.sql.ts";
import { addMs } from "../values/time.ts";
import { forEachConcurrent } from "../values/concurrency.ts";
import { ExpectedFailure } from "../values/errors.ts";
import type { ChannelJob, ChannelKind, Due, Sender } from "./kind.ts";
import { type Outcome, type Postponed, storeOutcomes } from "./outcome.ts";
import { laterDueJob } from "./schedule.ts";
import { enqueueAll } from "../job/job.ts";

/**
 * The maximum number of channels and deliveries of one job. The next job sends the remaining ones, so that jobs of other
 * organizations can run in between.
 */
const MAX_CHANNELS = 50;
const MAX_DELIVERIES = 500;
/**
 * A job that has been sending for this long leaves the rest to the next job, so that a slow receiver does not occupy a worker.
 */
const MAX_SENDING_MS = 20_000;
/**
 * How long a job's deliveries are claimed, in milliseconds. It is longer than a job may send, and about as long as its lease, so
 * that the claims of a crashed job expire at about the time when the job is repeated.
 */
const CLAIM_MS = 50_000;
const WAITS_MS = [60_000, 300_000, 1_800_000, 7_200_000, 18_000_000, 36_000_000, 36_000_000];
/** How long an organization's messages wait after a failure to reach the server, unless the server asks for another time. */
const SERVER_WAIT_MS = 60_000;

/** The longest wait that a receiver may ask for. */
const MAX_ASKED_MS = 3_600_000;

/** Sends the notifications that are due on one kind of channel to the people of an organization. */
export const sendDue = (kind: ChannelKind): JobHandler<ChannelJob> => ({
  async run(ctx, { organization_id }) {
    const sender = await kind.open(ctx, organization_id);
    if (sender === null) return;
    if (sender instanceof Date) return (ctx) => enqueueAll(ctx, [laterDueJob(kind, organization_id, sender)]);
    const claimed = await claimDue(ctx, kind, organization_id);
    if (claimed.length === 0) return whenFree(ctx, kind, organization_id);
    const sent = await sendClaimed(ctx, sender, claimed);
    const is_full = claimed.length === MAX_DELIVERIES || countChannels(claimed) === MAX_CHANNELS;
    return (ctx) => storeOutcomes(ctx, { kind, sender, organization_id }, { ...sent, is_full });
  },
});

interface Claimed {
  id: string;
  channel_id: string;
}

/**
 * Returns a write that enqueues a job for the time when all claims have expired. Claims remain if a worker crashed while it sent.
 */
async function whenFree(ctx: Context, kind: ChannelKind, organization_id: string) {
  const [held] = await ctx.db
    .select({ until: max(channel_deliveries.claimed_until) })
    .from(channel_deliveries)
    .where(
      and(
        eq(channel_deliveries.organization_id, organization_id),
        eq(channel_deliveries.type, kind.type),
        eq(channel_deliveries.status, "pending"),
        gte(channel_deliveries.claimed_until, ctx.now()),
      ),
    );
  const until = held?.until;
  return until ? (ctx: Context) => enqueueAll(ctx, [laterDueJob(kind, organization_id, until)]) : undefined;
}

const countChannels = (claimed: readonly Claimed[]) => new Set(claimed.map(({ channel_id }) => channel_id)).size;

/** Claims due deliveries of a limited number of channels, first those with a notification that cannot wait for a digest. */
async function claimDue(ctx: Context, { type }: ChannelKind, organization_id: string): Promise<Claimed[]> {
  const now = ctx.now().toISOString();
  const isDue = sql`organization_id = ${organization_id} and type = ${type} and status = 'pending'
    and due_at <= ${now}::timestamptz and not exists (select 1 from ${channels} as waiting
      where waiting.id = channel_id and waiting.active and waiting.retry_at > ${now}::timestamptz) and (claimed_until is null or claimed_until < ${now}::timestamptz)`;
  const result = await ctx.db.execute(sql`
    with first as materialized (select channel_id, row_number() over (order by bool_and(is_digest), min(due_at), channel_id) as place
      from ${channel_deliveries} where ${isDue} group by channel_id order by place limit ${MAX_CHANNELS})
    update ${channel_deliveries} as claimed
    set claimed_until = ${addMs(ctx.now(), CLAIM_MS).toISOString()}::timestamptz
    from first
    where first.channel_id = claimed.channel_id and claimed.id in (select id from ${channel_deliveries}
      where ${isDue} and channel_id in (select channel_id from first) order by due_at, id limit ${MAX_DELIVERIES} for update skip locked)
    returning claimed.id, claimed.channel_id, first.place::int as place`);
  return rowsOf<Claimed & { place: number }>(result).toSorted((one, other) => one.place - other.place);
}

interface Sent {
  /** When the job began. Retries are timed from this moment, so that results of equal failures can be stored together. */
  now: Date;
  outcomes: Outcome[];
  /** Deliveries that the person may not see any more, or whose approval is already decided. */
  dropped: string[];
  /** Deliveries that the job had no time for. */
  left: string[];
  /** Deliveries of people whose quiet hours have begun. */
  postponed: Postponed[];
  /** Why nothing more may be sent, and until when; null if sending was not stopped. */
  stopped: { failure: string; until: Date } | null;
}

/**
 * Sends on one channel after the other, or on a few at the same time. Rights are checked just before each message, because
 * earlier messages may take long.
 */
async function sendClaimed(ctx: Context, sender: Sender, claimed: readonly Claimed[]): Promise<Sent> {
  const sent: Sent = { now: ctx.now(), outcomes: [], dropped: [], left: [], postponed: [], stopped: null };
  const start = performance.now();
  const channels_due = [...Map.groupBy(claimed, ({ channel_id }) => channel_id).values()];
  const limits = { max_concurrent: sender.max_concurrent ?? 1, shouldStop: () => false };
  await forEachConcurrent(channels_due, limits, async (rows) => {
    const ids = rows.map(({ id }) => id);
    if (sent.stopped || performance.now() - start > MAX_SENDING_MS) sent.left.push(...ids);
    else await sendByChannel(ctx, sender, ids, sent);
  });
  return sent;
}

/**
 * Sends the due messages of one channel, unless it is quiet for the person. After a failure the channel waits, so its other messages
 * are not tried.
 */
async function sendByChannel(ctx: Context, sender: Sender, ids: readonly string[], sent: Sent): Promise<void> {
  const { due, quiet_until } = await readDue(ctx, ids);
  if (quiet_until) {
    sent.postponed.push({ ids, until: quiet_until });
    return;
  }
  const messages = sender.split(due);
  const shown = new Set(messages.flat().map(({ delivery_id }) => delivery_id));
  sent.dropped.push(...ids.filter((id) => !shown.has(id)));
  let isAccepted = true;
  for (const message of messages) {
    if (sent.stopped || !isAccepted) sent.left.push(...message.map(({ delivery_id }) => delivery_id));
    else isAccepted = await sendOne(sender, message, sent);
  }
}

/** Sends one message and returns whether the receiver accepted it. */
async function sendOne(sender: Sender, message: readonly Due[], sent: Sent): Promise<boolean> {
  try {
    const write = (await sender.send(message)) ?? null;
    sent.outcomes.push({ message, error: null, retry_at: null, wait_until: null, write });
    return true;
  } catch (error) {
    if (!(error instanceof ExpectedFailure)) throw error;
    const isStop = error.is_unreachable || error.is_waiting;
    const asked = Math.min(error.retry_after_ms ?? 0, MAX_ASKED_MS);
    const until = addMs(sent.now, Math.max(asked, SERVER_WAIT_MS));
    if (isStop) sent.stopped = { failure: error.message, until };
    // A receiver that only asks the service to wait has not failed.
    if (error.is_waiting) sent.left.push(...message.map(({ delivery_id }) => delivery_id));
    else {
      const wait = error.is_transient ? WAITS_MS[Math.max(...message.map(({ attempts }) => attempts))] : undefined;
      const retry_at = wait === undefined ? null : addMs(sent.now, Math.max(wait, asked));
      const wait_until = retry_at ?? addMs(sent.now, WAITS_MS[0]!);
      sent.outcomes.push({ message, error: error.message, retry_at, wait_until, write: null });
    }
    return false;
  }
}

/**
 * Reads what to send on one channel now, and until when it is quiet for the person. It checks the rights, because the person may have
 * lost them since being notified.
 */
async function readDue(ctx: Context, ids: readonly string[]): Promise<{ due: Due[]; quiet_until: Date | null }> {
  const rows = await ctx.db
    .select({
      ...notificationColumns,
      delivery_id: channel_deliveries.id,
      attempts: channel_deliveries.attempts,
      channel: { id: channels.id, address_sealed: channels.address_sealed },
      email: users.email,
      zone: users.timezone,
      preferences: notification_preferences,
    })
    .from(channel_deliveries)
    .innerJoin(channels, eq(channels.id, channel_deliveries.channel_id))
    .innerJoin(user_notifications, eq(user_notifications.id, channel_deliveries.notification_id))
    .innerJoin(users, and(eq(users.id, channels.user_id), eq(users.id, user_notifications.user_id)))
    .leftJoin(notification_preferences, eq(notification_preferences.user_id, users.id))
    .where(and(inArray(channel_deliveries.id, [...ids]), channels.active, mayBeSent))
    .orderBy(channel_deliveries.due_at, channel_deliveries.id);
  const [first] = rows;
  const quiet_until = first ? quietUntil(ctx.now(), toPreferences(first.preferences, first.zone)) : null;
  const due = (rows as Due[]).filter(({ approval }) => approval === null || approval.status === "pending");
  return { due, quiet_until };
}
