import { and, eq, sql } from "drizzle-orm";
import { isQuestion } from "../approval/question.ts";
import type { Context } from "../context/context.ts";
import type { JobHandler } from "../job/handler.ts";
import type { SlackReplyPayload } from "../job/kinds.ts";
import { approvals } from "../schema/approval.sql.ts";
import { boards } from "../schema/board.sql.ts";
import { users } from "../schema/organization.sql.ts";
import { escapeMarkup, remark, section } from "./message.ts";
import { answerByUrl } from "./web-api.ts";

/** Answers a pressed button: replaces the message by the decision, or tells only this person why nothing was decided. */
export const replyToSlack: JobHandler<"slack.reply"> = {
  async run(ctx, payload, { secret: url }) {
    if (url === null) return;
    await answerByUrl(ctx, url, payload.organization_id, await toReply(ctx, payload));
  },
};

async function toReply(ctx: Context, payload: SlackReplyPayload): Promise<object> {
  const { service_url } = ctx.settings;
  if (payload.outcome === "not_linked")
    return toNote(`Your Slack user is not linked to your account here. Link it in the console, or decide there: ${service_url}`);
  if (payload.outcome === "not_valid")
    return toNote(`This button is not valid any more. The console shows what waits: ${service_url}`);
  const decided = await readDecided(ctx, payload);
  if (!decided) return toNote("This does not exist any more.");
  const blocks = [section(decided.what), remark(`${decided.result}. ${decided.board_name}`)];
  return { replace_original: true, text: escapeMarkup(`${decided.result}: ${decided.what}`), blocks };
}

const toNote = (text: string) => ({ response_type: "ephemeral", replace_original: false, text });

interface Decided {
  what: string;
  /** For example `Approved by Ann`. */
  result: string;
  board_name: string;
}

const MAX_CHARS = 1_000;

async function readDecided(ctx: Context, { approval_id, board_id, organization_id }: SlackReplyPayload): Promise<Decided | null> {
  const field = (name: string) => sql<string | null>`left(${approvals.payload} ->> ${name}::text, ${MAX_CHARS})`;
  const [row] = await ctx.db
    .select({
      action_type: approvals.action_type,
      status: approvals.status,
      title: field("title"),
      reason: field("reason"),
      answer: sql<
        string | null
      >`left(coalesce(${approvals.payload} -> 'answer' ->> 'option', ${approvals.payload} -> 'answer' ->> 'text'), ${MAX_CHARS})`,
      board_name: boards.name,
      decided_by: sql<string | null>`coalesce(${users.preferred_name}, ${users.name})`,
    })
    .from(approvals)
    .innerJoin(boards, eq(boards.id, approvals.board_id))
    .leftJoin(users, eq(users.id, approvals.resolved_by_user_id))
    .where(and(eq(approvals.id, approval_id), eq(boards.id, board_id), eq(boards.organization_id, organization_id)));
  if (!row) return null;
  const { action_type, status, title, reason, answer, board_name } = row;
  const by = row.decided_by ?? "a person";
  if (isQuestion(row)) {
    const results = { approved: `${by} answered: ${answer ?? ""}`, rejected: `No answer, by ${by}`, pending: "Not answered" };
    return { what: reason ?? "A question", result: results[status], board_name };
  }
  const results = { approved: `Approved by ${by}`, rejected: `Rejected by ${by}`, pending: "Not decided" };
  return { what: title ?? action_type, result: results[status], board_name };
}
