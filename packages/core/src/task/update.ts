import { and, eq, sql } from "drizzle-orm";
import { type BoardRow, boardFor } from "../access.ts";
import type { Agent, User } from "../actor.ts";
import { newEvents } from "../activity/activity.ts";
import { newBoardEvents } from "../board-event/board-event.ts";
import { changesOf, isEmpty } from "../change.ts";
import type { Context } from "../context.ts";
import { repeatableTransaction } from "../db/giving-way.ts";
import { writeTogether } from "../db/together.ts";
import { newNotices } from "../notice/notice.ts";
import { missingTagIds, replaceTags } from "../tag/assignment.ts";
import { changedFieldsOf, returnedBoardEvents, taskBoardEvents, unblockedBoardEvents } from "./board-events.ts";
import { returnDependents } from "./cascade.ts";
import { decide, type Outcome } from "./change.ts";
import { commentEvent, commentNotices } from "./comment.ts";
import { checkFieldValues, storeFieldValues } from "./custom-field-value.ts";
import { lockDependencies, readWished, replaceDependencies } from "./dependency.ts";
import { changeEvents, taskEvent } from "./events.ts";
import { type Facts, holdTask, readFacts, readHolder } from "./facts.ts";
import { toWish, type UpdateTask, type Wish } from "./input.ts";
import { changeNotices, returnNotices } from "./notices.ts";
import { type Colleague, leadOf, readPeople, worksOn } from "./people.ts";
import type { Mover, TaskRow } from "./status.ts";
import { type Task, taskColumns, toTask } from "./task.ts";
import { tasks } from "./task.sql.ts";
import { newTransitions } from "./transition.ts";

type Acting = Context<User | Agent>;

/** In which capacity the caller works on a board's tasks. */
export const moverOf = (actor: User | Agent, board: BoardRow): Mover =>
  actor.type === "user" ? "user" : actor.is_board_lead && actor.board_id === board.id ? "lead" : "worker";

const selfOf = (actor: User | Agent): string | null => (actor.type === "agent" ? actor.agent_id : null);

/**
 * Changes a task by the rules of its board and of whoever asks (contract tasks.md §4): all checks, the row, what hangs on
 * it, events, notices and the tasks that wait for it, in one transaction.
 */
export async function updateTask(ctx: Acting, board_id: string, task_id: string, input: UpdateTask): Promise<Task> {
  const board = await boardFor(ctx, board_id, "write");
  const wish = toWish(input);
  const claims = moverOf(ctx.actor, board) === "worker" && (wish.status ?? wish.assigned_agent_id) !== undefined;
  // Read before anything is waited for: a task that was free then, and is not under the lock, was lost to somebody faster.
  const seen_free = claims && (await readHolder(ctx, board, task_id)) === null;
  return repeatableTransaction(ctx, async (ctx, again) => {
    if (wish.depends_on_task_ids || again) await lockDependencies(ctx, board);
    const held = await holdTask(ctx, board, task_id, { also: wish.depends_on_task_ids, dependents: wish.status !== undefined });
    const before = held.task;
    const facts = await readFacts(ctx, held);
    const people = await readPeople(ctx, board, wish.assigned_agent_id ? [wish.assigned_agent_id] : []);
    const outcome = await decideOn(ctx, { board, before, wish, facts, people, seen_free });
    return store(ctx, board, { before, wish, facts, people, outcome });
  });
}

interface Known {
  board: BoardRow;
  before: TaskRow;
  wish: Wish;
  facts: Facts;
  people: readonly Colleague[];
  seen_free: boolean;
}

async function decideOn(ctx: Acting, { board, before, wish, facts, people, seen_free }: Known): Promise<Outcome> {
  const { now, pending_approval, approved, commenters, reviewed_for } = facts;
  const wished =
    wish.depends_on_task_ids &&
    !sameList(
      wish.depends_on_task_ids,
      facts.dependencies.map(({ id }) => id),
    );
  const dependencies = wished
    ? await readWished(ctx, board, wish.depends_on_task_ids!, before.id)
    : { problem: null, open: facts.dependencies.filter(({ open }) => open).map(({ id }) => id) };
  const assignee = people.find(({ agent_id }) => agent_id === wish.assigned_agent_id);
  return decide({
    board,
    mover: moverOf(ctx.actor, board),
    self: selfOf(ctx.actor),
    task: before,
    wish,
    now,
    seen_free,
    lead: leadOf(board, people)?.agent_id ?? null,
    assignee: assignee ? { on_board: worksOn(board, assignee), is_lead: assignee.is_board_lead } : null,
    missing_tag_ids: await missingTagIds(ctx, board.organization_id, wish.tag_ids ?? []),
    dependency_problem: dependencies.problem,
    open_dependencies: dependencies.open,
    reviewed_for,
    pending_approval,
    approved,
    commenters,
  });
}

const sameList = (one: readonly string[], other: readonly string[]) =>
  one.length === other.length && one.every((id, index) => id === other[index]);

type Decided = Omit<Known, "board" | "seen_free"> & { outcome: Outcome };

async function store(ctx: Acting, board: BoardRow, { before, wish, facts, people, outcome }: Decided): Promise<Task> {
  const fields = wish.custom_field_values ? await checkFieldValues(ctx, board, wish.custom_field_values, before.id) : [];
  const { title, description, priority, due_at, tag_ids, depends_on_task_ids, comment } = wish;
  const changes = changesOf(before, { title, description, priority, due_at, ...outcome });
  const newTags = tag_ids !== undefined && !sameList(tag_ids, facts.tag_ids);
  const newDependencies =
    depends_on_task_ids !== undefined &&
    !sameList(
      depends_on_task_ids,
      facts.dependencies.map(({ id }) => id),
    );
  const newValues = fields.length > 0;
  if (newTags) await replaceTags(ctx, before.id, tag_ids);
  if (newDependencies) await replaceDependencies(ctx, board, before.id, depends_on_task_ids);
  await storeFieldValues(ctx, before.id, fields);
  const changed = !isEmpty(changes) || newTags || newDependencies || newValues;
  const after: TaskRow = { ...before, ...changes };
  const task = changed ? await write(ctx, before, changes) : await readBack(ctx, before);
  const links = { tag_ids: newTags, depends_on_task_ids: newDependencies, custom_field_values: newValues };
  await record(ctx, board, { before, after, people, facts, changed, changed_fields: changedFieldsOf(changes, links), comment });
  return task;
}

/** What links to the task is written before, so that the row comes back whole. */
async function write(ctx: Acting, { id, board_id }: TaskRow, changes: Partial<TaskRow>): Promise<Task> {
  // The moment itself, not the transaction's start: a decision made while the task's lock was waited for is an older one.
  const left_done_at = changes.left_done_at ? { left_done_at: sql`clock_timestamp()` } : {};
  const [row] = await ctx.db
    .update(tasks)
    .set({ ...changes, ...left_done_at, updated_at: sql`now()` })
    .where(and(eq(tasks.id, id), eq(tasks.board_id, board_id)))
    .returning(taskColumns);
  return toTask(row!);
}

async function readBack(ctx: Acting, { id, board_id }: TaskRow): Promise<Task> {
  const [row] = await ctx.db
    .select(taskColumns)
    .from(tasks)
    .where(and(eq(tasks.id, id), eq(tasks.board_id, board_id)));
  return toTask(row!);
}

interface Recorded {
  before: TaskRow;
  after: TaskRow;
  people: readonly Colleague[];
  facts: Facts;
  changed: boolean;
  changed_fields: readonly string[];
  comment: string | undefined;
}

/** Comment, moves, events of the log and of the bus, notices and what follows for the tasks that depend on this one: one statement, two when it was reopened. */
async function record(ctx: Acting, board: BoardRow, recorded: Recorded): Promise<void> {
  const { before, after, people, facts, changed, changed_fields, comment } = recorded;
  const self = selfOf(ctx.actor);
  const moved = before.status !== after.status;
  const reopened = moved && before.status === "done" ? await returnDependents(ctx, board, before.id) : [];
  const finished = moved && after.status === "done" ? facts.dependents.filter(({ open }) => open) : [];
  const updated = `Dependency completion changed: ${after.title}.`;
  const returned = `Task returned to inbox: dependency reopened (${after.title}).`;
  const events = [
    ...(comment ? [commentEvent(ctx.actor, board, after.id, comment)] : []),
    ...(changed ? changeEvents(ctx.actor, board, { before, after, people }) : []),
    ...reopened.map((one) => {
      const type = one.moved && one.from_status !== "inbox" ? "task.status_changed" : "task.updated";
      return taskEvent(ctx.actor, board, one.id, type, one.moved ? returned : updated);
    }),
    ...finished.map((one) => taskEvent(ctx.actor, board, one.id, "task.updated", updated)),
  ];
  const back = reopened.filter((one) => one.moved);
  const moves = [
    ...(moved
      ? [{ task_id: after.id, from_status: before.status, to_status: after.status, in_progress_at: after.in_progress_at }]
      : []),
    ...back
      .filter((one) => one.from_status !== "inbox")
      .map((one) => ({ task_id: one.id, from_status: one.from_status, to_status: "inbox" as const, in_progress_at: null })),
  ];
  const review_comment = comment ?? facts.review_comment;
  const notices = [
    ...(changed ? changeNotices(board, { before, after, people, self, review_comment }) : []),
    ...back.flatMap(({ former, ...one }) =>
      returnNotices(board, { ...one, status: "inbox", assigned_agent_id: null }, { former, people, self }),
    ),
    ...(comment ? commentNotices(ctx.actor, board, after, comment, people) : []),
  ];
  const boardEvents = [
    ...(changed ? taskBoardEvents(board, { before, after, changed_fields }) : []),
    ...returnedBoardEvents(board, reopened),
    ...unblockedBoardEvents(board, finished),
  ];
  const writes = [
    ...newTransitions(ctx, board.id, moves),
    ...(events.length > 0 ? [newEvents(ctx, events)] : []),
    ...newNotices(ctx, notices),
    ...newBoardEvents(ctx, boardEvents),
  ];
  if (writes.length > 0) await writeTogether(ctx, writes);
}
