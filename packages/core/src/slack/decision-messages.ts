import { and, eq, sql } from "drizzle-orm";
import { slackUpdateJob } from "../approval/shown-decisions.ts";
import { BUTTON_MS } from "../channel/decision.ts";
import type { Due } from "../channel/kind.ts";
import type { Context } from "../context/context.ts";
import { rowsOf } from "../db/database.ts";
import { enqueueAll, type NewJob } from "../job/job.ts";
import { approvals } from "../schema/approval.sql.ts";
import { slack_decisions } from "../schema/slack.sql.ts";
import { addMs, MINUTE_MS } from "../values/time.ts";

/** How Slack identifies a message: by its conversation, and by its timestamp in the conversation. */
export interface MessageName {
  conversation: string;
  ts: string;
}

/**
 * Stores where the buttons of a message are, so that the message is replaced after the decision. Because of the lock, a concurrent
 * decision either commits first or finds the row.
 */
export async function storeDecisionMessage(
  ctx: Context,
  organization_id: string,
  due: readonly Due[],
  { conversation, ts }: MessageName,
): Promise<void> {
  const rows = due.flatMap(({ approval, subject_id, id, channel }) =>
    approval ? [{ approval_id: subject_id, notification_id: id, channel_id: channel.id }] : [],
  );
  if (rows.length === 0) return;
  const now = ctx.now();
  const expires = addMs(now, BUTTON_MS);
  const result = await ctx.db.execute(sql`
    insert into ${slack_decisions} (created_at, organization_id, channel_id, notification_id, approval_id, conversation, ts, due_at)
    select ${now.toISOString()}::timestamptz, ${organization_id}, given.channel_id, given.notification_id, approval.id, ${conversation}, ${ts},
      case approval.status when 'pending' then ${expires.toISOString()}::timestamptz else ${now.toISOString()}::timestamptz end
    from json_to_recordset(${JSON.stringify(rows)}::json) as given(approval_id uuid, notification_id uuid, channel_id uuid)
    join ${approvals} as approval on approval.id = given.approval_id
    for share of approval
    on conflict (channel_id, notification_id) do update
      set created_at = excluded.created_at, conversation = excluded.conversation, ts = excluded.ts, due_at = excluded.due_at
    returning due_at <= ${now.toISOString()}::timestamptz as is_decided`);
  const stored = rowsOf<{ is_decided: boolean }>(result);
  const isDecided = stored.some(({ is_decided }) => is_decided);
  await enqueueAll(ctx, [laterJob(organization_id, expires), ...(isDecided ? [slackUpdateJob(organization_id)] : [])]);
}

/** Returns the job that runs when the buttons expire. It has no lane, because a lane would make the other jobs wait until then. */
function laterJob(organization_id: string, due_at: Date): NewJob<"slack.update"> {
  const minute = Math.floor(due_at.getTime() / MINUTE_MS) + 1;
  const options = {
    organization_id,
    dedupe_key: `slack.update:${organization_id}:${minute}`,
    run_at: new Date(minute * MINUTE_MS),
  };
  return { kind: "slack.update", payload: { organization_id }, options };
}

/**
 * Counts the decisions for which a message has buttons. If there is only one, its row is removed, because the answer to the button
 * replaces the message.
 */
export async function countOpenDecisions(
  ctx: Context,
  organization_id: string,
  { conversation, ts }: MessageName,
): Promise<number> {
  const isOf = and(
    eq(slack_decisions.organization_id, organization_id),
    eq(slack_decisions.conversation, conversation),
    eq(slack_decisions.ts, ts),
  );
  const rows = await ctx.db.select({ id: slack_decisions.id }).from(slack_decisions).where(isOf);
  if (rows.length === 1) await ctx.db.delete(slack_decisions).where(isOf);
  return rows.length;
}
