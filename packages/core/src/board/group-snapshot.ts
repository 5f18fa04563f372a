import { and, asc, count, desc, eq, getTableColumns, inArray, lte, ne, type SQL, sql } from "drizzle-orm";
import * as z from "zod";
import { type BoardGroupRow, type BoardRow, boardFor, boardsOfUser, groupFor } from "../access.ts";
import type { Agent, Member, User } from "../actor.ts";
import { agents } from "../agent/agent.sql.ts";
import type { Context } from "../context.ts";
import { tasks } from "../task/task.sql.ts";
import { taskLabels, Task, TaskStatus } from "../task/task.ts";
import { QueryBoolean, QueryInteger } from "../wire.ts";
import { Board, toBoard } from "./board.ts";
import { board_groups, boards } from "./board.sql.ts";
import { BoardGroup, toBoardGroup } from "./group.ts";

const MAX_TASKS_PER_BOARD = 100;

export const GroupSnapshotQuery = z.object({
  include_done: QueryBoolean.default(false).describe("List done tasks too; the counts always have them."),
  per_board_task_limit: QueryInteger(0, MAX_TASKS_PER_BOARD).default(5).describe("How many tasks of each board at the most."),
});
export type GroupSnapshotQuery = z.infer<typeof GroupSnapshotQuery>;

export const NeighbourSnapshotQuery = GroupSnapshotQuery.extend({
  include_self: QueryBoolean.default(false).describe("Show the board itself among those of its group."),
});
export type NeighbourSnapshotQuery = z.infer<typeof NeighbourSnapshotQuery>;

const { id, board_id, title, status, priority, assigned_agent_id, due_at, in_progress_at, tags, created_at, updated_at } =
  Task.shape;
const GroupTask = z
  .object({
    id,
    board_id,
    board_name: z.string().describe("Name of the board."),
    title,
    status,
    priority,
    assigned_agent_id,
    assignee: z.string().nullable().describe("Name of the agent that works on it."),
    due_at,
    in_progress_at,
    tags,
    created_at,
    updated_at,
  })
  .meta({ id: "GroupTask", description: "A task as other boards of the group see it." });
type GroupTask = z.infer<typeof GroupTask>;

const GroupSnapshotBoard = z
  .object({
    board: Board.describe("The board."),
    task_counts: z
      .partialRecord(TaskStatus, z.int())
      .describe("How many tasks there are in each state that has any, done ones included."),
    tasks: z.array(GroupTask).describe("Its most pressing tasks: by state, then priority, then latest change."),
  })
  .meta({ id: "GroupSnapshotBoard" });
type GroupSnapshotBoard = z.infer<typeof GroupSnapshotBoard>;

export const GroupSnapshot = z
  .object({
    group: BoardGroup.nullable().describe("The group; null when the board is in none."),
    boards: z.array(GroupSnapshotBoard).describe("Its boards by name."),
  })
  .meta({ id: "BoardGroupSnapshot", description: "What the boards of a group work on." });
export type GroupSnapshot = z.infer<typeof GroupSnapshot>;

/** The group with its boards that the caller may read. */
export async function getGroupSnapshot(
  ctx: Context<Member>,
  group_id: string,
  query: GroupSnapshotQuery,
): Promise<GroupSnapshot> {
  return showGroup(ctx, await groupFor(ctx, group_id, "read"), boardsOfUser(ctx.actor), query);
}

/** The group of a board. People see the boards they may read, agents all of them. */
export async function getNeighbourSnapshot(
  ctx: Context<User | Agent>,
  board_id: string,
  { include_self, ...query }: NeighbourSnapshotQuery,
): Promise<GroupSnapshot> {
  const board = await boardFor(ctx, board_id, "read");
  if (!board.board_group_id) return { group: null, boards: [] };
  const [group] = await ctx.db.select().from(board_groups).where(eq(board_groups.id, board.board_group_id));
  if (!group) return { group: null, boards: [] };
  const visible = ctx.actor.type === "user" ? boardsOfUser(ctx.actor) : undefined;
  return showGroup(ctx, group, and(visible, include_self ? undefined : ne(boards.id, board.id)), query);
}

async function showGroup(
  ctx: Context,
  group: BoardGroupRow,
  which: SQL | undefined,
  query: GroupSnapshotQuery,
): Promise<GroupSnapshot> {
  const shown = await ctx.db
    .select()
    .from(boards)
    .where(and(eq(boards.board_group_id, group.id), which))
    .orderBy(asc(sql`lower(${boards.name})`), desc(boards.created_at), desc(boards.id));
  const [counts, pressing] = await Promise.all([countTasks(ctx, shown), readTasks(ctx, shown, query)]);
  return {
    group: toBoardGroup(group),
    boards: shown.map((board) => ({
      board: toBoard(board),
      task_counts: counts.get(board.id) ?? {},
      tasks: pressing.get(board.id) ?? [],
    })),
  };
}

const idsOf = (rows: BoardRow[]) => rows.map((row) => row.id);

async function countTasks(ctx: Context, of: BoardRow[]): Promise<Map<string, GroupSnapshotBoard["task_counts"]>> {
  const rows = await ctx.db
    .select({ board_id: tasks.board_id, status: tasks.status, total: count() })
    .from(tasks)
    .where(inArray(tasks.board_id, idsOf(of)))
    .groupBy(tasks.board_id, tasks.status);
  const byBoard = Map.groupBy(rows, (row) => row.board_id);
  return new Map(
    [...byBoard].map(([board_id, own]) => [board_id, Object.fromEntries(own.map(({ status, total }) => [status, total]))]),
  );
}

const byState = sql`array_position(array['in_progress', 'review', 'inbox', 'blocked', 'done'], ${tasks.status})`;
const byPriority = sql`coalesce(array_position(array['high', 'medium', 'low'], ${tasks.priority}), 4)`;

/** The first tasks of each board, ranked and cut by the database. */
async function readTasks(ctx: Context, of: BoardRow[], query: GroupSnapshotQuery): Promise<Map<string, GroupTask[]>> {
  const rank = sql<number>`row_number() over (partition by ${tasks.board_id} order by ${sql.join(
    [byState, byPriority, desc(tasks.updated_at), desc(tasks.created_at), desc(tasks.id)],
    sql`, `,
  )})`;
  const ranked = ctx.db
    .select({ id: tasks.id, rank: rank.as("rank") })
    .from(tasks)
    .where(and(inArray(tasks.board_id, idsOf(of)), query.include_done ? undefined : ne(tasks.status, "done")))
    .as("ranked");
  const rows = await ctx.db
    .select({ ...getTableColumns(tasks), board_name: boards.name, assignee: agents.name, tags: taskLabels })
    .from(ranked)
    .innerJoin(tasks, eq(tasks.id, ranked.id))
    .innerJoin(boards, eq(boards.id, tasks.board_id))
    .leftJoin(agents, eq(agents.id, tasks.assigned_agent_id))
    .where(lte(ranked.rank, query.per_board_task_limit))
    .orderBy(tasks.board_id, ranked.rank);
  return Map.groupBy(rows.map(toGroupTask), (task) => task.board_id);
}

type GroupTaskRow = typeof tasks.$inferSelect & Pick<GroupTask, "board_name" | "assignee" | "tags">;

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
