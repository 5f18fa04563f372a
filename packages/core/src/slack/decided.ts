import { and, eq, sql } from "drizzle-orm";
import { isQuestion } from "../approval/question.ts";
import type { Context } from "../context/context.ts";
import type { SlackReplyPayload } from "../job/kinds.ts";
import { approvals } from "../schema/approval.sql.ts";
import { boards } from "../schema/board.sql.ts";
import { users } from "../schema/organization.sql.ts";
import { escapeMarkup, remark, section, type SlackMessage } from "./message.ts";

interface Decided {
  what: string;
  /** For example `Approved by Ann`. */
  result: string;
  board_name: string;
}

const MAX_CHARS = 1_000;

type About = Pick<SlackReplyPayload, "organization_id" | "board_id" | "approval_id">;

/** Returns what a message shows instead of its buttons. Returns null if the approval does not exist any more. */
export async function findDecided(ctx: Context, about: About): Promise<SlackMessage | null> {
  const decided = await readDecided(ctx, about);
  if (!decided) return null;
  const { what, result, board_name } = decided;
  return { text: escapeMarkup(`${result}: ${what}`), blocks: [section(what), remark(`${result}. ${board_name}`)] };
}

async function readDecided(ctx: Context, { approval_id, board_id, organization_id }: About): Promise<Decided | null> {
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
