import { and, asc, count, desc, eq, getTableColumns, inArray, lte, ne, type SQL, sql } from "drizzle-orm";
import * as z from "zod";
import { type BoardGroupRow, boardFor, readableBoardsOfUser, groupFor } from "../organization/access.ts";
import type { Agent, Member, User } from "../context/actor.ts";
import { agents } from "../schema/agent.sql.ts";
import { type Context, readAll } from "../context/context.ts";
import { readShortened, toShortened, truncatable, withTruncatedFields } from "../lists/large-fields.ts";
import { arrayLimit } from "../lists/page.ts";
import { priorityRank, tasks } from "../schema/task.sql.ts";
import { TaskStatus } from "../task/task-status.ts";
import { largeTaskTags, taskTags } from "../tag/task-tags.ts";
import { Task } from "../task/task.ts";
import { QueryBoolean, QueryInteger, lazyObject } from "../values/wire.ts";
import { Board, LARGE_BOARD_FIELDS, toBoard } from "./board.ts";
import { board_groups, boards } from "../schema/board.sql.ts";
import { BoardGroup, toBoardGroup } from "./board-group.ts";

const MAX_TASKS_PER_BOARD = 100;
const MIN_BOARD_BYTES = 600;
const MIN_TASK_BYTES = 400;
const LARGE_GROUP_TASK_FIELDS = { tags: largeTaskTags };

export const GroupSnapshotQuery = lazyObject(() => ({
  include_done: QueryBoolean.default(false).describe("List done tasks too; the counts always include them."),
  per_board_task_limit: QueryInteger(0, MAX_TASKS_PER_BOARD)
    .default(5)
    .describe("Maximum number of tasks listed for each board."),
}));
export type GroupSnapshotQuery = z.infer<typeof GroupSnapshotQuery>;

export const BoardGroupSnapshotQuery = lazyObject(() => ({
  ...GroupSnapshotQuery.shape,
  include_self: QueryBoolean.default(false).describe("Include the board itself."),
}));
export type BoardGroupSnapshotQuery = z.infer<typeof BoardGroupSnapshotQuery>;

const GroupTask = lazyObject(() => {
  const { id, board_id, title, status, priority, assigned_agent_id, due_at, in_progress_at, tags, created_at, updated_at } =
    Task.shape;
  return {
    id,
    board_id,
    board_name: z.string().describe("Name of the board."),
    title,
    status,
    priority,
    assigned_agent_id,
    assignee: z.string().nullable().describe("Name of the assigned agent."),
    due_at,
    in_progress_at,
    tags,
    created_at,
    updated_at,
    ...truncatable,
  };
}).meta({ id: "GroupTask", description: "A task as the other boards of the group see it." });
type GroupTask = z.infer<typeof GroupTask>;

const GroupSnapshotBoard = lazyObject(() => ({
  board: Board.describe("The board."),
  task_counts: z
    .partialRecord(TaskStatus, z.int())
    .describe("Number of tasks by status, done ones included; a status without tasks is left out."),
  tasks: z.array(GroupTask).describe("Its most urgent tasks: by status, then priority, then latest change."),
  ...truncatable,
})).meta({ id: "GroupSnapshotBoard" });
type GroupSnapshotBoard = z.infer<typeof GroupSnapshotBoard>;

export const GroupSnapshot = lazyObject(() => ({
  group: BoardGroup.nullable().describe("The group; null when the board is in no group."),
  boards: z.array(GroupSnapshotBoard).describe("Its boards by name."),
  ...truncatable,
})).meta({ id: "BoardGroupSnapshot", description: "What the boards of a group work on." });
export type GroupSnapshot = z.infer<typeof GroupSnapshot>;

/** Returns the group with those of its boards that the caller may read. */
export async function getGroupSnapshot(
  ctx: Context<Member>,
  group_id: string,
  query: GroupSnapshotQuery,
): Promise<GroupSnapshot> {
  return readGroupSnapshot(ctx, await groupFor(ctx, group_id, "read"), readableBoardsOfUser(ctx.actor), query);
}

/** Returns the group of a board. Users see the boards of the group that they may read, and agents see all of its boards. */
export async function getGroupSnapshotOfBoard(
  ctx: Context<User | Agent>,
  board_id: string,
  { include_self, ...query }: BoardGroupSnapshotQuery,
): Promise<GroupSnapshot> {
  const board = await boardFor(ctx, board_id, "read");
  if (!board.board_group_id) return { group: null, boards: [] };
  const [group] = await ctx.db.select().from(board_groups).where(eq(board_groups.id, board.board_group_id));
  if (!group) return { group: null, boards: [] };
  const isVisible = ctx.actor.type === "user" ? readableBoardsOfUser(ctx.actor) : undefined;
  return readGroupSnapshot(ctx, group, and(isVisible, include_self ? undefined : ne(boards.id, board.id)), query);
}

async function readGroupSnapshot(
  ctx: Context,
  group: BoardGroupRow,
  condition: SQL | undefined,
  query: GroupSnapshotQuery,
): Promise<GroupSnapshot> {
  const max_boards = arrayLimit(ctx, MIN_BOARD_BYTES);
  const boardRows = await readShortened(
    ctx,
    { fields: getTableColumns(boards), large: LARGE_BOARD_FIELDS, max_rows: max_boards },
    (columns) =>
      ctx.db
        .select(columns)
        .from(boards)
        .where(and(eq(boards.board_group_id, group.id), condition))
        .orderBy(asc(sql`lower(${boards.name})`), desc(boards.created_at), desc(boards.id))
        .limit(max_boards),
  );
  const board_ids = boardRows.map(({ id }) => id);
  const [counts, topTasks] = await readAll(ctx, [() => countTasks(ctx, board_ids), () => readTopTasks(ctx, board_ids, query)]);
  return {
    group: toBoardGroup(group),
    boards: boardRows.map((row) => {
      const task_counts = counts.get(row.id) ?? {};
      const shown = topTasks.get(row.id) ?? [];
      const entry = { board: toShortened(row, toBoard), task_counts, tasks: shown };
      return withTruncatedFields(entry, shown.length < countListed(task_counts, query) ? ["tasks"] : null);
    }),
  };
}

/** Returns how many tasks of a board to list if the answer is small enough. A shorter list is marked as truncated. */
function countListed({ done = 0, ...open }: GroupSnapshotBoard["task_counts"], query: GroupSnapshotQuery): number {
  const total = Object.values(open).reduce((sum, count) => sum + count, query.include_done ? done : 0);
  return Math.min(total, query.per_board_task_limit);
}

async function countTasks(ctx: Context, board_ids: string[]): Promise<Map<string, GroupSnapshotBoard["task_counts"]>> {
  const rows = await ctx.db
    .select({ board_id: tasks.board_id, status: tasks.status, total: count() })
    .from(tasks)
    .where(inArray(tasks.board_id, board_ids))
    .groupBy(tasks.board_id, tasks.status)
    .orderBy(tasks.board_id, tasks.status);
  const byBoard = Map.groupBy(rows, (row) => row.board_id);
  return new Map(
    [...byBoard].map(([board_id, counts]) => [board_id, Object.fromEntries(counts.map(({ status, total }) => [status, total]))]),
  );
}

const statusOrder = sql`array_position(array['in_progress', 'review', 'inbox', 'blocked', 'done'], ${tasks.status})`;
const priorityOrder = priorityRank(tasks.priority);

/**
 * Returns the most urgent tasks of each board. The database ranks the tasks and returns the best ranks first, at most as many as an
 * answer can hold. So if tasks must be left out, each board still keeps its most urgent ones.
 */
async function readTopTasks(ctx: Context, board_ids: string[], query: GroupSnapshotQuery): Promise<Map<string, GroupTask[]>> {
  const rank = sql<number>`row_number() over (partition by ${tasks.board_id} order by ${sql.join(
    [statusOrder, priorityOrder, desc(tasks.updated_at), desc(tasks.created_at), desc(tasks.id)],
    sql`, `,
  )})`;
  const ranked = ctx.db
    .select({ id: tasks.id, rank: rank.as("rank") })
    .from(tasks)
    .where(and(inArray(tasks.board_id, board_ids), query.include_done ? undefined : ne(tasks.status, "done")))
    .as("ranked");
  const max_rows = arrayLimit(ctx, MIN_TASK_BYTES);
  const { description: _, ...columns } = getTableColumns(tasks);
  const fields = { ...columns, board_name: boards.name, assignee: agents.name, tags: taskTags };
  const rows = await readShortened(ctx, { fields, large: LARGE_GROUP_TASK_FIELDS, max_rows }, (columns) =>
    ctx.db
      .select(columns)
      .from(ranked)
      .innerJoin(tasks, eq(tasks.id, ranked.id))
      .innerJoin(boards, eq(boards.id, tasks.board_id))
      .leftJoin(agents, eq(agents.id, tasks.assigned_agent_id))
      .where(lte(ranked.rank, query.per_board_task_limit))
      .orderBy(ranked.rank, tasks.board_id)
      .limit(max_rows),
  );
  return Map.groupBy(
    rows.map((row) => toShortened(row, toGroupTask)),
    (task) => task.board_id,
  );
}

type GroupTaskRow = Omit<typeof tasks.$inferSelect, "description"> & Pick<GroupTask, "board_name" | "assignee" | "tags">;

function toGroupTask(row: GroupTaskRow): GroupTask {
  return {
    id: row.id,
    board_id: row.board_id,
    board_name: row.board_name,
    title: row.title,
    status: row.status,
    priority: row.priority,
    assigned_agent_id: row.assigned_agent_id,
    assignee: row.assignee,
    due_at: row.due_at?.toISOString() ?? null,
    in_progress_at: row.in_progress_at?.toISOString() ?? null,
    tags: row.tags,
    created_at: row.created_at.toISOString(),
    updated_at: row.updated_at.toISOString(),
  };
}
