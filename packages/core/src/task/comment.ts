import { and, asc, eq, sql } from "drizzle-orm";
import * as z from "zod";
import { type BoardRow, boardFor } from "../access.ts";
import { activity_events } from "../activity/activity.sql.ts";
import { type EventRow, newEvents, type TypedEvent } from "../activity/activity.ts";
import type { Agent, User } from "../actor.ts";
import { isMentioned, mentionsOf } from "../agent/mention.ts";
import type { Context } from "../context.ts";
import { notFound } from "../errors.ts";
import { nameOf } from "../memory/chat.ts";
import { type NewNotice, newNotices, toNotices } from "../notice/notice.ts";
import { type Page, type PageQuery, readPage } from "../page.ts";
import { Id, Instant, MAX_NAME, MAX_TEXT, NonEmpty } from "../wire.ts";
import { commentText } from "./comment-message.ts";
import { type Colleague, readPeople, worksOn } from "./people.ts";
import { tasks } from "./task.sql.ts";

const MAX_TAGS = 50;

export const TaskComment = z
  .object({
    id: Id.describe("Id of the comment, and of its event in the activity log."),
    task_id: Id.describe("Task that it is about."),
    board_id: Id.describe("Board of the task."),
    agent_id: Id.nullable().describe("Agent that wrote it."),
    user_id: Id.nullable().describe("Person who wrote it."),
    message: z.string().describe("What was written."),
    content: z.string().describe("The same text."),
    tags: z.array(z.string()).describe("Labels."),
    created_at: Instant.describe("When it was written."),
  })
  .meta({ id: "TaskComment", description: "Something said about a task." });
export type TaskComment = z.infer<typeof TaskComment>;

export const WriteComment = z
  .object({
    content: NonEmpty(MAX_TEXT).optional().describe("The comment. `@name` of an agent, or `@lead`, tells that agent."),
    message: NonEmpty(MAX_TEXT).optional().describe("Another name of `content`, which wins."),
    tags: z.array(z.string().max(MAX_NAME)).max(MAX_TAGS).nullable().default(null).describe("Labels."),
  })
  .superRefine(
    (_comment, { value, issues }) => {
      const { content, message } = value;
      if (content === undefined && message === undefined)
        issues.unshift({ code: "invalid_type", expected: "string", path: ["content"], input: content });
    },
    // Told together with what is wrong with other fields, but not of what is no object at all.
    { when: ({ issues }) => issues.every(({ path }) => path?.length) },
  )
  .meta({ id: "TaskCommentWrite" });
export type WriteComment = z.infer<typeof WriteComment>;

type Speaking = Context<User | Agent>;
interface Commented {
  id: string;
  title: string;
  assigned_agent_id: string | null;
}

/** What was said about a task, oldest first. */
export async function listComments(
  ctx: Speaking,
  board_id: string,
  task_id: string,
  query: PageQuery,
): Promise<Page<TaskComment>> {
  const board = await boardFor(ctx, board_id, "read");
  const where = and(
    eq(activity_events.task_id, task_id),
    eq(activity_events.board_id, board.id),
    // Word for word what its index is limited to.
    sql`${activity_events.event_type} = 'task.comment'`,
  );
  const total = ctx.db.$count(activity_events, where);
  const page = await readPage(
    query,
    total,
    (limit, offset) =>
      ctx.db
        .select({ item: activity_events, total })
        .from(activity_events)
        .where(where)
        .orderBy(asc(activity_events.created_at), asc(activity_events.seq), asc(activity_events.id))
        .limit(limit)
        .offset(offset),
    toComment,
  );
  // Comments say that their task is there.
  if (page.total === 0) await findTask(ctx, board, task_id);
  return page;
}

/**
 * Says something about a task. Comment and notices are one statement, and a task that is being removed refuses them: the
 * comment's foreign key holds the task.
 */
export async function postComment(ctx: Speaking, board_id: string, task_id: string, input: WriteComment): Promise<TaskComment> {
  const board = await boardFor(ctx, board_id, "write");
  const task = await findTask(ctx, board, task_id);
  const message = (input.content ?? input.message)!;
  const heard = task.assigned_agent_id !== null || mentionsOf(message).size > 0;
  const people = heard ? await readPeople(ctx, board) : [];
  const comment = ctx.db
    .$with("comment")
    .as(newEvents(ctx, [commentEvent(ctx.actor, board, task.id, message, input.tags)]).returning());
  const notices = newNotices(ctx, commentNotices(ctx.actor, board, task, message, people)).map((insert) =>
    ctx.db.$with("notices", {}).as(insert.getSQL()),
  );
  const [row] = await ctx.db
    .with(comment, ...notices)
    .select()
    .from(comment);
  return toComment(row!);
}

async function findTask(ctx: Context, board: BoardRow, task_id: string): Promise<Commented> {
  const [task] = await ctx.db
    .select({ id: tasks.id, title: tasks.title, assigned_agent_id: tasks.assigned_agent_id })
    .from(tasks)
    .where(and(eq(tasks.id, task_id), eq(tasks.board_id, board.id)));
  if (!task) throw notFound();
  return task;
}

/** The event that is a comment. */
export function commentEvent(
  actor: User | Agent,
  board: BoardRow,
  task_id: string,
  message: string,
  tags: string[] | null = null,
): TypedEvent {
  return {
    event_type: "task.comment",
    organization_id: board.organization_id,
    board_id: board.id,
    task_id,
    agent_id: actor.type === "agent" ? actor.agent_id : null,
    user_id: actor.type === "user" ? actor.user_id : null,
    message,
    tags,
  };
}

/**
 * The notices that a comment causes: to the agents of the board that it mentions, and
 * to the assignee when it mentions nobody else than its author. `people` is what `readPeople` gives.
 */
export function commentNotices(
  actor: User | Agent,
  board: BoardRow,
  task: Commented,
  message: string,
  people: readonly Colleague[],
): NewNotice[] {
  const author = actor.type === "agent" ? actor.agent_id : null;
  const others = people.filter((one) => one.agent_id !== author && worksOn(board, one));
  const isAssignee = (one: Colleague) => one.agent_id === task.assigned_agent_id;
  const mentions = mentionsOf(message);
  // A main agent hears of its own tasks only: it is on no board.
  const mentioned = others.filter((one) => (one.board_id !== null || isAssignee(one)) && isMentioned(one, mentions));
  const told = mentioned.length > 0 ? mentioned : others.filter(isAssignee);
  return told.flatMap((one) => {
    const said = { board, task, from: nameOf(actor), comment: message };
    const text = commentText({ ...said, mentioned: mentioned.length > 0, assigned: isAssignee(one) });
    return toNotices(one, { message: text });
  });
}

/** A comment has always a task: it goes with it. */
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
