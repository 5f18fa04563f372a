import { and, eq, sql } from "drizzle-orm";
import { type BoardRow, boardFor } from "../access.ts";
import type { Lead, User } from "../actor.ts";
import { newEvents } from "../activity/activity.ts";
import { newBoardEvents } from "../board-event/board-event.ts";
import type { Context } from "../context.ts";
import { repeatableTransaction } from "../db/giving-way.ts";
import { writeTogether } from "../db/together.ts";
import { newNotices } from "../notice/notice.ts";
import { assignTags, missingTagIds } from "../tag/assignment.ts";
import { taskBoardEvents } from "./board-events.ts";
import { blocked, checkAssignee, missingTags } from "./change.ts";
import { checkFieldValues, storeFieldValues } from "./custom-field-value.ts";
import { addDependencies, lockDependencies, readWished } from "./dependency.ts";
import { changeEvents, taskEvent } from "./events.ts";
import { type CreateTask, toWish, type Wish } from "./input.ts";
import { creationNotices } from "./notices.ts";
import { type Colleague, readPeople, worksOn } from "./people.ts";
import { NEW_TASK, passGates, type TaskRow, timesAfter } from "./status.ts";
import { type Task, taskColumns, toTask } from "./task.ts";
import { tasks } from "./task.sql.ts";
import { newTransitions } from "./transition.ts";
import { moverOf } from "./update.ts";

type Creating = Context<User | Lead>;

/** Makes a task for a person or a board's lead. As `done` it passes the gates that it would pass on its way there. */
export async function createTask(ctx: Creating, board_id: string, input: CreateTask): Promise<Task> {
  const board = await boardFor(ctx, board_id, "write");
  const wish = { ...toWish(input), title: input.title, status: input.status, priority: input.priority };
  return repeatableTransaction(ctx, async (ctx) => {
    const people = await check(ctx, board, wish);
    const fields = await checkFieldValues(ctx, board, wish.custom_field_values ?? {}, null);
    const row = await insert(ctx, board, wish);
    await addDependencies(ctx, board, row.id, wish.depends_on_task_ids ?? []);
    await assignTags(ctx, row.id, wish.tag_ids ?? []);
    await storeFieldValues(ctx, row.id, fields);
    await record(ctx, board, row, people);
    const [stored] = await ctx.db
      .select(taskColumns)
      .from(tasks)
      .where(and(eq(tasks.id, row.id), eq(tasks.board_id, board.id)));
    return toTask(stored!);
  });
}

type New = Wish & Required<Pick<CreateTask, "title" | "status" | "priority">>;

/** The checks in the contract's order (tasks.md §3); returns those who may work on the board. */
async function check(ctx: Creating, board: BoardRow, wish: New): Promise<Colleague[]> {
  const { status, assigned_agent_id, depends_on_task_ids = [], tag_ids = [] } = wish;
  if (depends_on_task_ids.length > 0) await lockDependencies(ctx, board);
  const { problem, open } = await readWished(ctx, board, depends_on_task_ids, null);
  if (problem) throw problem;
  const missing = await missingTagIds(ctx, board.organization_id, tag_ids);
  if (missing.length > 0) throw missingTags(missing);
  if (open.length > 0 && (assigned_agent_id || (status !== "inbox" && status !== "blocked"))) throw blocked(open);
  const people = await readPeople(ctx, board, assigned_agent_id ? [assigned_agent_id] : []);
  if (assigned_agent_id) {
    const assignee = people.find(({ agent_id }) => agent_id === assigned_agent_id);
    checkAssignee(
      moverOf(ctx.actor, board),
      assignee ? { on_board: worksOn(board, assignee), is_lead: assignee.is_board_lead } : null,
    );
  }
  // A new task has no approvals yet, and comes from no review; a comment is asked of those that move there.
  passGates(board, "inbox", status, { pending: false, approved: false, commented: true });
  return people;
}

async function insert(ctx: Creating, board: BoardRow, wish: New): Promise<TaskRow> {
  const { title, description = null, status, priority, due_at = null, assigned_agent_id = null } = wish;
  const { actor } = ctx;
  const times = timesAfter("inbox", status, NEW_TASK, ctx.now());
  const stamp = (time: Date | null) => (time ? sql`now()` : null);
  const origin =
    actor.type === "user"
      ? { created_by_user_id: actor.user_id }
      : { auto_created: true, auto_reason: `lead_agent:${actor.agent_id}` };
  const [row] = await ctx.db
    .insert(tasks)
    .values({
      board_id: board.id,
      title,
      description,
      status,
      priority,
      due_at,
      assigned_agent_id,
      in_progress_at: stamp(times.in_progress_at),
      last_started_at: stamp(times.last_started_at),
      done_at: stamp(times.done_at),
      ...origin,
    })
    .returning();
  return row!;
}

async function record(ctx: Creating, board: BoardRow, row: TaskRow, people: readonly Colleague[]): Promise<void> {
  const { actor } = ctx;
  const byUser = actor.type === "user";
  const made = byUser ? `Task created: ${row.title}.` : `Task created by lead: ${row.title}.`;
  const events = [
    taskEvent(actor, board, row.id, "task.created", made),
    ...changeEvents(actor, board, { before: null, after: row, people }),
  ];
  const move = { task_id: row.id, from_status: null, to_status: row.status, in_progress_at: row.in_progress_at };
  await writeTogether(ctx, [
    ...newTransitions(ctx, board.id, [move]),
    newEvents(ctx, events),
    ...newNotices(ctx, creationNotices(board, row, people, byUser)),
    ...newBoardEvents(ctx, taskBoardEvents(board, { before: null, after: row, changed_fields: [] })),
  ]);
}
