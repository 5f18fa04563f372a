import { and, asc, eq, getTableColumns, sql } from "drizzle-orm";
import * as z from "zod";
import { type BoardRow, boardFor } from "../access.ts";
import { activity_events } from "../activity/activity.sql.ts";
import { type EventRow, insertEvents } from "../activity/activity.ts";
import type { CallerContext } from "../context.ts";
import { notFound } from "../errors.ts";
import { parseMentions } from "../mention.ts";
import { readBoardAgents } from "../notification/board-agents.ts";
import { insertNotifications } from "../notification/notification.ts";
import { largeText, largeTexts, truncatable } from "../large-fields.ts";
import { type Page, type PageQuery, readShortenedPage } from "../page.ts";
import { Id, Instant, MAX_NAME, MAX_TEXT, NonEmpty } from "../wire.ts";
import { commentEvent } from "./activity-events.ts";
import { commentNotifications } from "./notifications.ts";
import { taskCondition } from "./task.ts";
import { tasks } from "./task.sql.ts";

const MAX_TAGS = 50;
const LARGE_COMMENT_FIELDS = { message: { ...largeText, shown_as: ["message", "content"] }, tags: largeTexts };

export const TaskComment = z
  .object({
    id: Id.describe("Id of the comment, and of its event in the activity log."),
    task_id: Id.describe("Task that the comment is on."),
    board_id: Id.describe("Board of the task."),
    agent_id: Id.nullable().describe("Agent that wrote it."),
    user_id: Id.nullable().describe("Person who wrote it."),
    message: z.string().describe("Text of the comment."),
    content: z.string().describe("The same text as `message`."),
    tags: z.array(z.string()).describe("Labels."),
    created_at: Instant.describe("When the comment was written."),
    ...truncatable,
  })
  .meta({ id: "TaskComment", description: "A comment on a task." });
export type TaskComment = z.infer<typeof TaskComment>;

export const CreateComment = z
  .object({
    content: NonEmpty(MAX_TEXT).optional().describe("Text of the comment. `@name` or `@lead` notifies that agent."),
    message: NonEmpty(MAX_TEXT).optional().describe("Alias of `content`, which wins when both are sent."),
    tags: z.array(z.string().max(MAX_NAME)).max(MAX_TAGS).nullable().default(null).describe("Labels."),
  })
  .superRefine(
    (_comment, { value, issues }) => {
      const { content, message } = value;
      if (content === undefined && message === undefined)
        issues.unshift({ code: "invalid_type", expected: "string", path: ["content"], input: content });
    },
    // Runs also when other fields have issues, so that all are reported together, but not when the body is no object.
    { when: ({ issues }) => issues.every(({ path }) => path?.length) },
  )
  .meta({ id: "TaskCommentWrite" });
export type CreateComment = z.infer<typeof CreateComment>;

/** The comments on a task, oldest first. */
export async function listComments(
  ctx: CallerContext,
  board_id: string,
  task_id: string,
  query: PageQuery,
): Promise<Page<TaskComment>> {
  const board = await boardFor(ctx, board_id, "read");
  const where = and(
    eq(activity_events.task_id, task_id),
    eq(activity_events.board_id, board.id),
    // Must be written exactly like the condition of the partial index, or PostgreSQL does not use it.
    sql`${activity_events.event_type} = 'task.comment'`,
  );
  const total = ctx.db.$count(activity_events, where);
  const page = await readShortenedPage(
    ctx,
    query,
    {
      columns: getTableColumns(activity_events),
      large: LARGE_COMMENT_FIELDS,
      total,
      select: (columns, limit, offset) =>
        ctx.db
          .select(columns)
          .from(activity_events)
          .where(where)
          .orderBy(asc(activity_events.created_at), asc(activity_events.seq), asc(activity_events.id))
          .limit(limit)
          .offset(offset),
    },
    toComment,
  );
  // Where there are comments, there is a task: only an empty page needs the check.
  if (page.total === 0) await requireTask(ctx, board, task_id);
  return page;
}

/**
 * Adds a comment and its notifications in one statement. Its foreign key locks the task, so the statement fails when the
 * task is being removed.
 */
export async function createComment(
  ctx: CallerContext,
  board_id: string,
  task_id: string,
  input: CreateComment,
): Promise<TaskComment> {
  const board = await boardFor(ctx, board_id, "write");
  const task = await requireTask(ctx, board, task_id);
  const message = (input.content ?? input.message)!;
  const hasRecipients = task.assigned_agent_id !== null || parseMentions(message).size > 0;
  const agents = hasRecipients ? await readBoardAgents(ctx, board) : [];
  const comment = ctx.db
    .$with("comment")
    .as(insertEvents(ctx, [commentEvent(ctx.actor, board, task.id, message, input.tags)]).returning());
  const notifications = insertNotifications(ctx, commentNotifications(ctx.actor, board, task, message, agents)).map((insert) =>
    ctx.db.$with("notifications", {}).as(insert.getSQL()),
  );
  const [row] = await ctx.db
    .with(comment, ...notifications)
    .select()
    .from(comment);
  return toComment(row!);
}

async function requireTask(ctx: CallerContext, board: BoardRow, task_id: string) {
  const [task] = await ctx.db
    .select({ id: tasks.id, title: tasks.title, assigned_agent_id: tasks.assigned_agent_id })
    .from(tasks)
    .where(taskCondition(board.id, task_id));
  if (!task) throw notFound();
  return task;
}

/** The event of a comment always has a task: it is deleted with it. */
export function toComment(row: EventRow): TaskComment {
  const { id, task_id, board_id, agent_id, user_id, message, tags, created_at } = row;
  return {
    id,
    task_id: task_id!,
    board_id: board_id!,
    agent_id,
    user_id,
    message: message ?? "",
    content: message ?? "",
    tags: tags ?? [],
    created_at: created_at.toISOString(),
  };
}
