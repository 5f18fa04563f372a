import { and, eq, inArray, type SQL, type SQLWrapper, sql } from "drizzle-orm";
import type { SelectResultFields } from "drizzle-orm/query-builders/select.types";
import * as z from "zod";
import { readableBoards } from "../organization/access.ts";
import type { Member } from "../context/actor.ts";
import { agents } from "../schema/agent.sql.ts";
import { boards } from "../schema/board.sql.ts";
import type { Context } from "../context/context.ts";
import { notFound } from "../values/errors.ts";
import { newestFirst, toOrderBy } from "../lists/keyset.ts";
import { largeText, truncatable } from "../lists/large-fields.ts";
import { type Page, type PageQuery, type PageWindow, pageQuery } from "../lists/page.ts";
import { tasks } from "../schema/task.sql.ts";
import { Id, Instant, lazyObject } from "../values/wire.ts";
import { activity_events } from "../schema/activity.sql.ts";
import { countComments } from "./count.ts";
import { selectNewestByBoard } from "./newest-by-board.ts";
import { listOf } from "../lists/list.ts";
import { conditionOf } from "../lists/filter.ts";
import { mayReadAll } from "../organization/board-rights.ts";

export const FeedComment = lazyObject(() => ({
  id: Id.describe("Id of the comment, and of its event in the activity log."),
  created_at: Instant.describe("When the comment was written."),
  message: z.string().describe("Text of the comment."),
  agent_id: Id.nullable().describe("Agent that wrote the comment; null for a user, or once the agent is removed."),
  agent_name: z.string().nullable().describe("Name of that agent."),
  agent_role: z.string().nullable().describe("Role of that agent, from its profile."),
  task_id: Id.describe("Task of the comment."),
  task_title: z.string().describe("Title of the task."),
  board_id: Id.describe("Board of the task."),
  board_name: z.string().describe("Name of the board."),
  ...truncatable,
})).meta({ id: "TaskCommentFeedItem", description: "A comment on a task with its author, task and board." });
export type FeedComment = z.infer<typeof FeedComment>;

export const FeedQuery = (defaultLimit?: number, maxLimit?: number) =>
  lazyObject(() => ({
    ...pageQuery(defaultLimit, maxLimit).shape,
    board_id: Id.optional().describe("Only comments on this board."),
  }));
export interface FeedQuery extends PageQuery {
  board_id?: string | undefined;
}

/** All characters that JavaScript's trim() removes. PostgreSQL treats fewer characters as white space. */
const WHITE_SPACE =
  "\t\n\v\f\r \u00a0\u1680\u2000\u2001\u2002\u2003\u2004\u2005\u2006\u2007\u2008\u2009\u200a\u2028\u2029\u202f\u205f\u3000\ufeff";

/**
 * The condition for events in the feed. The event type must be compared exactly as in the partial indexes, or PostgreSQL does not
 * use them. The other conditions exclude rows that only an import can have created.
 */
export const isFeedComment: SQL = sql`(${activity_events}.event_type = 'task.comment' and ${activity_events}.task_id is not null
  and ${activity_events}.board_id is not null and btrim(${activity_events}.message, ${WHITE_SPACE}) <> '')`;

const feedColumns = {
  id: activity_events.id,
  created_at: activity_events.created_at,
  message: activity_events.message,
  agent_id: activity_events.agent_id,
  agent_name: agents.name,
  agent_role: sql<string | null>`${agents.identity_profile} ->> 'role'`,
  task_id: tasks.id,
  task_title: tasks.title,
  board_id: boards.id,
  board_name: boards.name,
  tx: activity_events.tx,
  seq: activity_events.seq,
};

/** Selects the comments with these ids. The ids come from a subquery, so that skipping rows by offset needs no joins. */
export const selectFeed = (ctx: Context, ids: SQLWrapper) =>
  ctx.db
    .select(feedColumns)
    .from(activity_events)
    .innerJoin(tasks, eq(tasks.id, activity_events.task_id))
    .innerJoin(boards, eq(boards.id, activity_events.board_id))
    .leftJoin(agents, eq(agents.id, activity_events.agent_id))
    .where(inArray(activity_events.id, ids));
type FeedColumns = SelectResultFields<typeof feedColumns>;
type FeedRow = Omit<FeedColumns, "agent_name"> & { agent_name: string | null };

const feedOrder = newestFirst(activity_events);

const feedList = listOf({
  name: "comment feed",
  table: activity_events,
  joins: [
    { table: tasks, on: eq(tasks.id, activity_events.task_id) },
    { table: boards, on: eq(boards.id, activity_events.board_id) },
    { table: agents, on: eq(agents.id, activity_events.agent_id), optional: true },
  ],
  columns: feedColumns,
  large: { message: largeText, agent_role: largeText },
  order: feedOrder,
});

/** Lists the comments on tasks of boards that the caller may read, newest first. */
export async function listFeed(ctx: Context<Member>, query: FeedQuery): Promise<Page<FeedComment>> {
  const { actor } = ctx;
  const { board_id } = query;
  const isReadable = and(conditionOf(readableBoards(actor)), board_id === undefined ? undefined : eq(boards.id, board_id))!;
  const readsAllBoards = board_id === undefined && mayReadAll(actor);
  const page = await feedList.read(ctx, query, {
    owner: actor.active.organization_id,
    filters: [],
    selectIds: (window) =>
      readsAllBoards
        ? selectAllIds(ctx, actor.active, window)
        : selectNewestByBoard({ boards: isReadable, events: isFeedComment, ...window }),
    count: async () => countComments(ctx, await readBoardIds(ctx, isReadable)),
    toItem: toFeedComment,
  });
  // A comment on the page proves that the board is readable. If the page is empty, the board must be looked up.
  if (board_id !== undefined && page.items.length === 0 && (await readBoardIds(ctx, isReadable)).length === 0) throw notFound();
  return page;
}

const selectAllIds = (ctx: Context, { organization_id }: Member["active"], { after, limit, offset }: PageWindow) =>
  ctx.db
    .select({ id: activity_events.id })
    .from(activity_events)
    .where(and(eq(activity_events.organization_id, organization_id), isFeedComment, after))
    .orderBy(...toOrderBy(feedOrder))
    .limit(limit)
    .offset(offset);

async function readBoardIds(ctx: Context, condition: SQL): Promise<string[]> {
  const rows = await ctx.db.select({ id: boards.id }).from(boards).where(condition);
  return rows.map(({ id }) => id);
}

export function toFeedComment(row: FeedRow): FeedComment {
  const { id, created_at, message, agent_id, agent_name, agent_role, task_id, task_title, board_id, board_name } = row;
  return {
    id,
    created_at: created_at.toISOString(),
    message: message!,
    agent_id,
    agent_name,
    agent_role: agent_role?.trim() || null,
    task_id,
    task_title,
    board_id,
    board_name,
  };
}
