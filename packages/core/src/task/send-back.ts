import { sql } from "drizzle-orm";
import * as z from "zod";
import type { User } from "../context/actor.ts";
import type { Context } from "../context/context.ts";
import { rowsOf } from "../db/database.ts";
import { type BoardRow, boardFor } from "../organization/access.ts";
import { activity_events, type CommentAnchor } from "../schema/activity.sql.ts";
import { task_transitions } from "../schema/task-transition.sql.ts";
import { tasks } from "../schema/task.sql.ts";
import { DomainError, notFound } from "../values/errors.ts";
import { ellipsize } from "../values/text.ts";
import { Id, lazyObject, MAX_TEXT } from "../values/wire.ts";
import { anchorText } from "./comment/anchor.ts";
import { notInReview } from "./errors.ts";
import { readTask, type Task } from "./task.ts";
import { readTaskAgents } from "./task-agents.ts";
import { findAssignee } from "./transition-checks.ts";
import { updateTask } from "./update.ts";

/** The message quotes only the newest comments. The agent can read all of them on the task. */
const MAX_COMMENTS = 50;
const COMMENT_CHARS = 1_000;
const MESSAGE_CHARS = 8_000;

export const SendBack = lazyObject(() => ({
  comment: z.string().max(MAX_TEXT).nullable().optional().describe("A last comment on the review. Blank counts as absent."),
  assigned_agent_id: Id.optional().describe("Agent that does the work. By default the one that handed it in."),
})).meta({ id: "TaskSendBack" });
export type SendBack = z.infer<typeof SendBack>;

/**
 * Moves a task in review back to the agent that submitted it, or to the agent that the request names. The agent gets one
 * message with the comments that people and other agents have written since the task moved to review.
 */
export async function sendBack(
  ctx: Context<User>,
  board_id: string,
  task_id: string,
  { comment, assigned_agent_id }: SendBack,
  fence: number | null,
): Promise<Task> {
  const board = await boardFor(ctx, board_id, "write");
  const task = await readTask(ctx, board.id, task_id);
  if (!task) throw notFound();
  if (task.status !== "review") throw notInReview();
  const agent_id = assigned_agent_id ?? (await requireSubmitter(ctx, board, task));
  const { newest, total } = await readReviewComments(ctx, board.id, task_id, task.submitted_by_agent_id);
  const last = comment?.trim() ? [{ message: comment.trim(), anchor: null }] : [];
  const requested = reviewText([...newest, ...last], total + last.length);
  const input = { status: "in_progress" as const, assigned_agent_id: agent_id, comment };
  return updateTask(ctx, board.id, task_id, input, fence, { requested });
}

/** Returns the agent that submitted the task. Throws `conflict` if no agent did, or if the agent is no longer on the board. */
async function requireSubmitter(ctx: Context, board: BoardRow, { submitted_by_agent_id: id }: Task): Promise<string> {
  if (id === null) throw new DomainError("conflict", "No agent has handed in the task. Name the agent that should do the work.");
  const submitter = findAssignee(board, await readTaskAgents(ctx, board, null, [id]), id);
  if (submitter?.on_board) return id;
  const message = "The agent that handed in the task is no longer on the board. Name the agent that should do the work.";
  throw new DomainError("conflict", message);
}

interface ReviewComment {
  message: string;
  anchor: CommentAnchor | null;
}

/** Reads the comments since the task last moved to review, without the comments of the agent that submitted it. */
async function readReviewComments(
  ctx: Context,
  board_id: string,
  task_id: string,
  submitter_id: string | null,
): Promise<{ newest: ReviewComment[]; total: number }> {
  const result = await ctx.db.execute(sql`
    select comment.message, comment.anchor, count(*) over ()::int as total
    from ${activity_events} as comment join ${tasks} as task on task.id = comment.task_id
    where task.id = ${task_id} and task.board_id = ${board_id} and comment.event_type = 'task.comment'
      and comment.message ~ '\\S' and comment.agent_id is distinct from ${submitter_id}::uuid
      and comment.created_at >= (
        select max(step.at) from ${task_transitions} as step where step.task_id = task.id and step.to_status = 'review')
    order by comment.created_at desc, comment.seq desc limit ${MAX_COMMENTS}`);
  const rows = rowsOf<ReviewComment & { total: number }>(result);
  return { newest: rows.toReversed(), total: rows[0]?.total ?? 0 };
}

/**
 * Joins comments to one text, each with the place that it is about. If the text would be too long, the oldest comments are left
 * out, because the last comment usually says what to do. Returns null if there are no comments.
 */
function reviewText(comments: readonly ReviewComment[], total: number): string | null {
  if (comments.length === 0) return null;
  const parts: string[] = [];
  let chars = 0;
  for (const { message, anchor } of comments.toReversed()) {
    const text = ellipsize(message.trim(), COMMENT_CHARS);
    const part = anchor ? `[${anchorText(anchor)}]\n${text}` : text;
    chars += part.length;
    if (parts.length > 0 && chars > MESSAGE_CHARS) break;
    parts.unshift(part);
  }
  const missing = total - parts.length;
  if (missing > 0)
    parts.unshift(missing === 1 ? "1 earlier comment is on the task." : `${missing} earlier comments are on the task.`);
  return parts.join("\n\n");
}
