import { and, eq, inArray, sql } from "drizzle-orm";
import type { Context } from "../context/context.ts";
import { MailError } from "../context/mailer.ts";
import { rowsOf } from "../db/database.ts";
import type { JobHandler } from "../job/handler.ts";
import { enqueueAll } from "../job/job.ts";
import { notificationColumns } from "../people/notification-columns.ts";
import { mayBeSent } from "../people/notification-rights.ts";
import type { NotificationFacts } from "../people/notification-text.ts";
import { channel_deliveries, channels } from "../schema/channel.sql.ts";
import { users } from "../schema/organization.sql.ts";
import { user_notifications } from "../schema/people.sql.ts";
import { addMs, DAY_MS } from "../values/time.ts";
import { signDecision } from "./decision.ts";
import { toMail } from "./email.ts";
import { toItem } from "./message.ts";
import { laterEmailJob } from "./schedule.ts";
import { signLink } from "./signed-link.ts";

/** Deliveries of one job. More are left to the next, so that other organizations get their turn in between. */
const BATCH = 50;
/** Less than the lease of a job, so that a job that is repeated finds its deliveries free again. */
const CLAIM_MS = 50_000;
const WAITS_MS = [60_000, 300_000, 1_800_000, 7_200_000, 18_000_000, 36_000_000, 36_000_000];
/** How long the mails of an organization wait after the server was not reached. */
const SERVER_WAIT_MS = 60_000;
const MAX_FAILING_MS = 5 * DAY_MS;

/** Sends what is due for the people of an organization, one mail for each person. */
export const sendEmails: JobHandler<"people.email"> = {
  async run(ctx, { organization_id }) {
    const { mail } = ctx;
    if (!mail) return;
    const ids = await claimDue(ctx, organization_id);
    if (ids.length === 0) return;
    const due = await readDue(ctx, ids);
    const outcomes: Outcome[] = [];
    // What is not found may not be shown to the person any more, or was decided.
    const dropped = ids.filter((id) => !due.some(({ delivery_ids }) => delivery_ids.includes(id)));
    let isDown = false;
    for (const letter of due) {
      if (isDown) {
        outcomes.push({ letter, error: null, retry_at: addMs(ctx.now(), SERVER_WAIT_MS), counts: false });
        continue;
      }
      try {
        await mail.send(letter.mail);
        outcomes.push({ letter, error: null, retry_at: null, counts: true });
      } catch (error) {
        if (!(error instanceof MailError)) throw error;
        isDown = error.is_unreachable;
        const wait = error.is_transient ? WAITS_MS[letter.attempts] : undefined;
        const retry_at = wait === undefined ? null : addMs(ctx.now(), wait);
        outcomes.push({ letter, error: error.message, retry_at, counts: true });
      }
    }
    return (ctx) => storeOutcomes(ctx, organization_id, { outcomes, dropped, is_full: ids.length === BATCH });
  },
};

interface Letter {
  channel_id: string;
  delivery_ids: string[];
  attempts: number;
  failing_since: Date | null;
  mail: ReturnType<typeof toMail>;
}

interface Outcome {
  letter: Letter;
  error: string | null;
  /** Null if the letter is not sent again. */
  retry_at: Date | null;
  /** Whether it was an attempt. */
  counts: boolean;
}

async function claimDue(ctx: Context, organization_id: string): Promise<string[]> {
  const now = ctx.now().toISOString();
  const result = await ctx.db.execute(sql`update ${channel_deliveries}
    set claimed_until = ${addMs(ctx.now(), CLAIM_MS).toISOString()}::timestamptz
    where id in (select id from ${channel_deliveries} where organization_id = ${organization_id} and type = 'email'
      and status = 'pending' and due_at <= ${now}::timestamptz
      and (claimed_until is null or claimed_until < ${now}::timestamptz)
      order by due_at, id limit ${BATCH} for update skip locked)
    returning id`);
  return rowsOf<{ id: string }>(result).map(({ id }) => id);
}

/** The letters to send now. The rights are checked here, because they may have ended since the person was notified. */
async function readDue(ctx: Context, ids: readonly string[]): Promise<Letter[]> {
  const rows = await ctx.db
    .select({
      ...notificationColumns,
      delivery_id: channel_deliveries.id,
      attempts: channel_deliveries.attempts,
      channel_id: channels.id,
      failing_since: channels.failing_since,
      email: users.email,
    })
    .from(channel_deliveries)
    .innerJoin(channels, eq(channels.id, channel_deliveries.channel_id))
    .innerJoin(user_notifications, eq(user_notifications.id, channel_deliveries.notification_id))
    .innerJoin(users, eq(users.id, channels.user_id))
    .where(and(inArray(channel_deliveries.id, [...ids]), channels.active, mayBeSent));
  const shown = rows.filter(({ email, approval }) => email !== null && (approval === null || approval.status === "pending"));
  const byChannel = Map.groupBy(shown, ({ channel_id }) => channel_id);
  return [...byChannel].map(([channel_id, rows]) => toLetter(ctx, channel_id, rows));
}

type DueRow = Omit<NotificationFacts, "type"> &
  Pick<typeof user_notifications.$inferSelect, "type" | "subject_id" | "board_id" | "task_id" | "user_id"> & {
    delivery_id: string;
    attempts: number;
    failing_since: Date | null;
    email: string | null;
  };

function toLetter(ctx: Context, channel_id: string, rows: readonly DueRow[]): Letter {
  const { service_url } = ctx.settings;
  const items = rows.map((row) => {
    const { approval, subject_id, board_id, task_id, user_id } = row;
    const place = board_id === null ? "" : `?board=${board_id}${task_id === null ? "" : `&task=${task_id}`}`;
    const token = approval && board_id ? signDecision(ctx, { approval_id: subject_id, board_id, user_id }) : null;
    const decide_url = token && `${service_url}/decide?token=${token}`;
    return toItem(row as NotificationFacts, { decide_url, open_url: `${service_url}/${place}` });
  });
  const [first] = rows;
  const delivery_ids = rows.map(({ delivery_id }) => delivery_id);
  const unsubscribe_url = `${service_url}/unsubscribe?token=${signLink(ctx, { for: "unsubscribe", channel_id })}`;
  return {
    channel_id,
    delivery_ids,
    attempts: Math.max(...rows.map(({ attempts }) => attempts)),
    failing_since: first!.failing_since,
    mail: toMail(items, { to: first!.email!, id: first!.delivery_id, unsubscribe_url }),
  };
}

interface Batch {
  outcomes: readonly Outcome[];
  dropped: readonly string[];
  is_full: boolean;
}

async function storeOutcomes(ctx: Context, organization_id: string, { outcomes, dropped, is_full }: Batch): Promise<void> {
  const now = ctx.now();
  const isOneOf = (ids: readonly string[]) => inArray(channel_deliveries.id, [...ids]);
  if (dropped.length > 0) await ctx.db.update(channel_deliveries).set({ status: "dropped" }).where(isOneOf(dropped));
  for (const { letter, error, retry_at, counts } of outcomes) {
    const attempts = sql`${channel_deliveries.attempts} + ${counts ? 1 : 0}`;
    const isSent = counts && error === null;
    const status = isSent ? ("sent" as const) : retry_at === null ? ("failed" as const) : ("pending" as const);
    await ctx.db
      .update(channel_deliveries)
      .set({
        status,
        attempts,
        last_error: error,
        claimed_until: null,
        ...(isSent ? { sent_at: now } : {}),
        ...(retry_at ? { due_at: retry_at } : {}),
      })
      .where(isOneOf(letter.delivery_ids));
    if (counts) await storeHealth(ctx, letter, error);
  }
  const retries = outcomes.flatMap(({ retry_at }) => retry_at ?? []);
  const jobs = [...(is_full ? [now] : []), ...retries].map((due_at) => laterEmailJob(organization_id, due_at));
  await enqueueAll(ctx, [...new Map(jobs.map((job) => [job.options.dedupe_key, job])).values()]);
}

/** A channel that only failed for five days is switched off, and the console says why. */
async function storeHealth(ctx: Context, { channel_id, failing_since }: Letter, error: string | null): Promise<void> {
  const now = ctx.now();
  const since = error === null ? null : (failing_since ?? now);
  const isOver = since !== null && now.getTime() - since.getTime() >= MAX_FAILING_MS;
  await ctx.db
    .update(channels)
    .set({
      failing_since: since,
      last_error: error,
      ...(error === null ? { last_sent_at: now } : {}),
      ...(isOver ? { active: false, disabled_reason: `It only failed for five days. Last error: ${error}` } : {}),
    })
    .where(and(eq(channels.id, channel_id), channels.active));
}
