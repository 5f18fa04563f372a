import { and, eq, getTableColumns, type Placeholder, type SQLWrapper, sql } from "drizzle-orm";
import * as z from "zod";
import { type BoardRow, boardFor } from "../../organization/access.ts";
import { activity_events } from "../../schema/activity.sql.ts";
import { type EventRow, eventValues, insertEventRow } from "../../activity/activity.ts";
import { type CallerContext, type Context, transaction } from "../../context/context.ts";
import type { Db } from "../../context/db.ts";
import { placeholdersOf, toKey, toValues } from "../../db/batch.ts";
import { createStatement, createStatementCache, preparedQuery } from "../../db/prepared.ts";
import type { PreparedWrite } from "../../db/prepared-write.ts";
import { notFound } from "../../values/errors.ts";
import { parseMentions } from "../../values/mention.ts";
import { readBoardAgents } from "../../notification/board-agents.ts";
import { actingValue, preparedActingAs } from "../../db/change-actor.ts";
import { insertNotifications } from "../../notification/notification.ts";
import { descending, idKey, integerKey, type SortOrder, timeKey } from "../../lists/keyset.ts";
import { largeText, largeTexts, truncatable } from "../../lists/large-fields.ts";
import { byCursor, type Page, type PageQuery } from "../../lists/page.ts";
import type { Filter } from "../../lists/filter.ts";
import { Id, Instant, MAX_NAME, MAX_TEXT, NonEmpty, lazyObject } from "../../values/wire.ts";
import { commentEvent } from "../activity-events.ts";
import { AnchorShape, SentAnchor, toStoredAnchor } from "./anchor.ts";
import { needsRenewal, renewalByComment } from "../lease/lease.ts";
import { requireFence } from "../lease/fence.ts";
import { commentNotifications } from "../notifications.ts";
import { readTaskAgents } from "../task-agents.ts";
import { isTask } from "../task.ts";
import { tasks } from "../../schema/task.sql.ts";
import { listOf } from "../../lists/list.ts";

const MAX_TAGS = 50;
const LARGE_COMMENT_FIELDS = { message: { ...largeText, shown_as: ["message", "content"] }, tags: largeTexts };

export const TaskComment = lazyObject(() => ({
  id: Id.describe("Id of the comment, and of its event in the activity log."),
  task_id: Id.describe("Task that the comment is on."),
  board_id: Id.describe("Board of the task."),
  agent_id: Id.nullable().describe("Agent that wrote it."),
  user_id: Id.nullable().describe("Person who wrote it."),
  message: z.string().describe("Text of the comment."),
  content: z.string().describe("The same text as `message`."),
  tags: z.array(z.string()).describe("Labels."),
  anchor: AnchorShape.nullable().describe("The place in an artifact that the comment is about."),
  created_at: Instant.describe("When the comment was written."),
  ...truncatable,
})).meta({ id: "TaskComment", description: "A comment on a task." });
export type TaskComment = z.infer<typeof TaskComment>;

export const CreateComment = lazyObject(() => ({
  content: NonEmpty(MAX_TEXT).optional().describe("Text of the comment. `@name` or `@lead` notifies that agent."),
  message: NonEmpty(MAX_TEXT).optional().describe("Alias of `content`, which wins when both are sent."),
  tags: z.array(z.string().max(MAX_NAME)).max(MAX_TAGS).nullable().default(null).describe("Labels."),
  anchor: SentAnchor.nullable().default(null).describe("What it is about."),
}))
  .superRefine(
    (_comment, { value, issues }) => {
      const { content, message } = value;
      if (content === undefined && message === undefined)
        issues.unshift({ code: "invalid_type", expected: "string", path: ["content"], input: content });
    },
    // This check also runs if other fields have issues, so that all issues are reported together. It does not run if the body is
    // not an object.
    { when: ({ issues }) => issues.every(({ path }) => path?.length) },
  )
  .meta({ id: "TaskCommentWrite" });
export type CreateComment = z.infer<typeof CreateComment>;

/**
 * Returns the condition for comments on a task of the board. The condition compares the board of the task. With the `board_id` of
 * the comment, PostgreSQL would also search the index of all comments of the board.
 */
const commentCondition = (board_id: string | Placeholder, task_id: string | Placeholder) =>
  and(
    sql`${activity_events.task_id} = (
      select ${tasks.id} from ${tasks} where ${and(eq(tasks.id, task_id), eq(tasks.board_id, board_id))})`,
    // This condition must be written exactly like the condition of the partial index. Otherwise PostgreSQL does not use the
    // index.
    sql`${activity_events.event_type} = 'task.comment'`,
  );

const commentOrder: SortOrder<EventRow> = [
  timeKey(activity_events.created_at, ({ created_at }) => created_at),
  integerKey(activity_events.seq, ({ seq }) => seq),
  idKey(activity_events.id, ({ id }) => id),
];

const ofTask = (board_id: string, task_id: string): Filter => ({
  name: "of a task",
  values: { board_id, task_id },
  condition: (of) => commentCondition(of("board_id") as string, of("task_id") as string)!,
});

const commentList = listOf({
  name: "comments",
  table: activity_events,
  columns: getTableColumns(activity_events),
  large: LARGE_COMMENT_FIELDS,
  order: commentOrder,
});

/** Lists the comments on a task, oldest first. */
export async function listComments(
  ctx: CallerContext,
  board_id: string,
  task_id: string,
  query: PageQuery,
): Promise<Page<TaskComment>> {
  const board = await boardFor(ctx, board_id, "read");
  const page = await commentList.read(ctx, query, { owner: task_id, filters: [ofTask(board.id, task_id)], toItem: toComment });
  // A comment on the page proves that the task exists. So the task is looked up only if the page is empty.
  if (page.items.length === 0) await requireTask(ctx, board, task_id);
  return page;
}

const latestFirst = descending(...commentOrder);

/** Returns the latest comments on a task, oldest first. The caller must have checked access to the board. */
export async function readLatestComments(ctx: CallerContext, board_id: string, task_id: string, limit: number) {
  const query = byCursor({ limit });
  const request = { owner: task_id, filters: [ofTask(board_id, task_id)], order: latestFirst, toItem: toComment };
  return (await commentList.read(ctx, query, request)).items.toReversed();
}

/**
 * Adds a comment and its notifications with one statement. The foreign key of the comment locks the task, so the statement fails
 * if another transaction is removing the task.
 */
export async function createComment(
  ctx: CallerContext,
  board_id: string,
  task_id: string,
  input: CreateComment,
  fence: number | null = null,
): Promise<TaskComment> {
  const board = await boardFor(ctx, board_id, "write");
  if (fence === null) return insertComment(ctx, board, await requireTask(ctx, board, task_id), input);
  return transaction(ctx, async (ctx) => {
    const task = await requireTask(ctx, board, task_id, true);
    await requireFence(ctx, task, fence);
    return insertComment(ctx, board, task, input);
  });
}

async function insertComment(ctx: CallerContext, board: BoardRow, task: CommentedTask, input: CreateComment) {
  const message = (input.content ?? input.message)!;
  const agents = await readRecipients(ctx, board, task, message);
  const anchor = await toStoredAnchor(ctx, board, task.id, input.anchor);
  const event = commentEvent(ctx.actor, board, task.id, message, { tags: input.tags, anchor });
  const notifications = insertNotifications(ctx, commentNotifications(ctx.actor, board, task, { message, anchor }, agents));
  const isHolder = ctx.actor.type === "agent" && ctx.actor.agent_id === task.assigned_agent_id;
  const renewal = isHolder && needsRenewal(task) ? renewalByComment(ctx, task, ctx.actor.agent_id) : null;
  const build = () => selectInserted(ctx.db, notifications, renewal);
  const statement = renewal ? createStatement<EventRow[]>(build()) : statements.get(toKey(notifications)!, build);
  const [row] = await statement.execute(ctx.db, { ...eventValues(event), ...toValues(notifications), ...actingValue(ctx) });
  return toComment(row!);
}

/** Reads the agents that may be notified: all agents of the board if the comment mentions some, otherwise only the assignee. */
async function readRecipients(ctx: Context, board: BoardRow, { assigned_agent_id }: CommentedTask, message: string) {
  if (parseMentions(message).size > 0) return readBoardAgents(ctx, board);
  return assigned_agent_id === null ? [] : readTaskAgents(ctx, board, null, [assigned_agent_id]);
}

const statements = createStatementCache<EventRow[]>();

/** Builds one statement that inserts a comment and its notifications and, with `renewal`, renews the author's lease. */
function selectInserted(db: Db, writes: readonly PreparedWrite[], renewal: SQLWrapper | null) {
  const comment = db.$with("comment").as(insertEventRow(db));
  const notifications = writes.map((write, index) =>
    db.$with(`notifications_${index}`, {}).as(write.build(db, placeholdersOf(index)).getSQL()),
  );
  const renewed = renewal ? [db.$with("renewed", {}).as(renewal.getSQL())] : [];
  return db
    .with(comment, ...notifications, ...renewed)
    .select()
    .from(comment)
    .where(preparedActingAs);
}

const commentedTask = {
  id: tasks.id,
  board_id: tasks.board_id,
  title: tasks.title,
  assigned_agent_id: tasks.assigned_agent_id,
  lease_expires_at: tasks.lease_expires_at,
  lease_fence: tasks.lease_fence,
  lease_expiries: tasks.lease_expiries,
};
type CommentedTask = Pick<typeof tasks.$inferSelect, keyof typeof commentedTask>;

const selectCommented = preparedQuery((db, lock: boolean) => {
  const query = db.select(commentedTask).from(tasks).where(isTask);
  return lock ? query.for("no key update") : query;
});

async function requireTask(ctx: CallerContext, board: BoardRow, task_id: string, lock = false): Promise<CommentedTask> {
  const [task] = await selectCommented(ctx.db, lock).execute({ board_id: board.id, task_id });
  if (!task) throw notFound();
  return task;
}

/** Converts the event of a comment. A comment always has a task and a board, because it is deleted together with its task. */
export function toComment(row: EventRow): TaskComment {
  const { id, task_id, board_id, agent_id, user_id, message, tags, anchor, created_at } = row;
  return {
    id,
    task_id: task_id!,
    board_id: board_id!,
    agent_id,
    user_id,
    message: message ?? "",
    content: message ?? "",
    tags: tags ?? [],
    anchor,
    created_at: created_at.toISOString(),
  };
}
