import { and, asc, eq, isNull, lte, or, sql } from "drizzle-orm";
import { slackUpdateJob } from "../approval/shown-decisions.ts";
import { BUTTON_MS } from "../channel/decision.ts";
import type { Context } from "../context/context.ts";
import type { JobHandler } from "../job/handler.ts";
import { enqueueAll } from "../job/job.ts";
import { notificationColumns } from "../people/notification-columns.ts";
import { mayBeSent } from "../people/notification-rights.ts";
import { channels } from "../schema/channel.sql.ts";
import { user_notifications } from "../schema/people.sql.ts";
import { slack_decisions } from "../schema/slack.sql.ts";
import { addMs } from "../values/time.ts";
import { findSlackApp, type SlackAppRow, tokenOf } from "./app.ts";
import { findDecided } from "./decided.ts";
import type { MessageName } from "./decision-messages.ts";
import { escapeMarkup, itemBlocks, section, type SlackItem, type SlackMessage } from "./message.ts";
import { callSlack, SlackError } from "./web-api.ts";

/**
 * The maximum number of messages of one job. The next job replaces the rest, so that jobs of other organizations run in between.
 */
const MAX_MESSAGES = 50;
const MAX_UPDATING_MS = 20_000;

/** Replaces an organization's messages if their decisions were made elsewhere or their buttons have expired. */
export const updateSlackMessages: JobHandler<"slack.update"> = {
  async run(ctx, { organization_id }, { lane }) {
    // A job without a lane only enqueues a job with a lane. The jobs of a lane run one at a time, so a message is never replaced by
    // an earlier text.
    if (lane === null) return (ctx) => enqueueAll(ctx, [slackUpdateJob(organization_id)]);
    const app = await findSlackApp(ctx, organization_id);
    if (!app) return;
    const due = await listDue(ctx, organization_id);
    const start = performance.now();
    for (const [place, message] of due.entries()) {
      if (place === MAX_MESSAGES || performance.now() - start > MAX_UPDATING_MS)
        return (ctx) => enqueueAll(ctx, [slackUpdateJob(organization_id)]);
      // oxlint-disable-next-line no-await-in-loop -- Slack limits the calls of an app
      await updateMessage(ctx, app, message);
    }
    return;
  },
};

const isOfActiveChannel = sql`exists (select 1 from ${channels} where ${channels.id} = ${slack_decisions.channel_id} and ${channels.active})`;

const listDue = (ctx: Context, organization_id: string): Promise<MessageName[]> =>
  ctx.db
    .select({ conversation: slack_decisions.conversation, ts: slack_decisions.ts })
    .from(slack_decisions)
    .where(and(eq(slack_decisions.organization_id, organization_id), lte(slack_decisions.due_at, ctx.now()), isOfActiveChannel))
    .groupBy(slack_decisions.conversation, slack_decisions.ts)
    .orderBy(sql`min(${slack_decisions.due_at})`)
    .limit(MAX_MESSAGES + 1);

async function updateMessage(ctx: Context, app: SlackAppRow, message: MessageName): Promise<void> {
  const rows = await readRows(ctx, app, message);
  if (rows.length === 0) return;
  const { organization_id } = app;
  const { conversation, ts } = message;
  const body = { channel: conversation, ts, ...toMessage(await Promise.all(rows.map((row) => toPart(ctx, row)))) };
  const isGone = await isGoneAfter(() => callSlack(ctx, "chat.update", { organization_id, token: tokenOf(ctx, app), body }));
  await storeShown(ctx, rows, isGone);
}

/**
 * Returns true if the message can never be replaced, for example because the person has removed it. Throws if a later attempt may
 * succeed.
 */
async function isGoneAfter(update: () => Promise<unknown>): Promise<boolean> {
  try {
    await update();
    return false;
  } catch (error) {
    if (!(error instanceof SlackError) || error.is_transient) throw error;
    return true;
  }
}

type Row = Awaited<ReturnType<typeof readRows>>[number];

const readRows = (ctx: Context, { organization_id }: SlackAppRow, { conversation, ts }: MessageName) =>
  ctx.db
    .select({
      notification: notificationColumns,
      id: slack_decisions.id,
      due_at: slack_decisions.due_at,
      sent_at: slack_decisions.created_at,
      may_be_shown: sql<boolean>`${mayBeSent}`,
    })
    .from(slack_decisions)
    .innerJoin(user_notifications, eq(user_notifications.id, slack_decisions.notification_id))
    .where(
      and(
        eq(slack_decisions.organization_id, organization_id),
        eq(slack_decisions.conversation, conversation),
        eq(slack_decisions.ts, ts),
      ),
    )
    .orderBy(asc(user_notifications.created_at), asc(user_notifications.id));

const isPending = ({ notification, may_be_shown }: Row) => may_be_shown && notification.approval?.status === "pending";

/** The message for people who have lost the right to decide. It has no details and no buttons. */
const NOT_SHOWN: SlackMessage = {
  text: "This does not wait for you any more.",
  blocks: [section("This does not wait for you any more.")],
};

async function toPart(ctx: Context, row: Row): Promise<SlackMessage> {
  const { notification, sent_at, may_be_shown } = row;
  const { organization_id, subject_id, board_id } = notification;
  if (!may_be_shown || board_id === null) return NOT_SHOWN;
  if (isPending(row)) {
    const blocks = itemBlocks(ctx, notification as SlackItem, sent_at);
    return { text: escapeMarkup("A decision waits for you."), blocks };
  }
  return (await findDecided(ctx, { organization_id, board_id, approval_id: subject_id })) ?? NOT_SHOWN;
}

const toMessage = (parts: readonly SlackMessage[]): SlackMessage => ({
  text: parts[0]!.text,
  blocks: parts.flatMap(({ blocks }) => blocks),
});

/**
 * Stores that the message is up to date. If a decision changed while Slack was called, `due_at` differs from the row that was read,
 * so the row stays due.
 */
async function storeShown(ctx: Context, rows: readonly Row[], isGone: boolean): Promise<void> {
  const areUnchanged = or(
    ...rows.map(({ id, due_at }) =>
      and(eq(slack_decisions.id, id), due_at === null ? isNull(slack_decisions.due_at) : eq(slack_decisions.due_at, due_at)),
    ),
  );
  const expires = addMs(rows[0]!.sent_at, BUTTON_MS);
  const due_at = expires > ctx.now() ? expires : null;
  if (isGone || !rows.some(isPending)) await ctx.db.delete(slack_decisions).where(areUnchanged);
  else await ctx.db.update(slack_decisions).set({ due_at }).where(areUnchanged);
}
