import { getTableColumns, sql } from "drizzle-orm";
import { insertTaskBudget } from "../budget/store.ts";
import { type BoardRow, boardFor } from "../organization/access.ts";
import type { Lead, User } from "../context/actor.ts";
import { type Context, FinalWrites, transaction } from "../context/context.ts";
import { actingValue, preparedActor } from "../db/change-actor.ts";
import { placeholders, preparedQuery } from "../db/prepared.ts";
import type { BoardAgent } from "../notification/board-agents.ts";
import { assignTags, listMissingTagIds } from "../tag/assignment.ts";
import { storeFieldValues, validateFieldValues } from "./field/field-value.ts";
import { addDependencies, lockDependencies, readRequestedDependencies } from "./dependency/dependency.ts";
import { toCreationEffects } from "./effects.ts";
import { type MatchResults, matchSentValues, withMatchResults } from "./field/match-patterns.ts";
import { blockedError, missingTagsError } from "./errors.ts";
import { type CreateTask, PLAIN_FIELDS, type TaskPatch, toTaskPatch } from "./input.ts";
import { allowsOpenDependencies, NEW_TASK_TIMES, nextTimes, requireOpenGates, type TaskRow, toTaskRole } from "./status-rules.ts";
import { storeEffects } from "./store-effects.ts";
import { readTaskAgents } from "./task-agents.ts";
import { readTask, type Task } from "./task.ts";
import { tasks } from "../schema/task.sql.ts";
import { findAssignee, requireAssignable } from "./transition-checks.ts";

type CreatorContext = Context<User | Lead>;

/** Creates a task for a person or the board's lead. */
export async function createTask(ctx: CreatorContext, board_id: string, input: CreateTask): Promise<Task> {
  const board = await boardFor(ctx, board_id, "write");
  const { title, status, priority, budget } = input;
  const newTask = { ...toTaskPatch(input), title, status, priority, budget };
  const match = () => matchSentValues(ctx, board, newTask.custom_field_values);
  return withMatchResults(match, (matched) => storeNewTask(ctx, board, newTask, matched));
}

function storeNewTask(ctx: CreatorContext, board: BoardRow, newTask: NewTask, matched: MatchResults): Promise<Task> {
  return transaction(ctx, async (ctx) => {
    const agents = await requireCreatable(ctx, board, newTask);
    const fields = await validateFieldValues(ctx, board, newTask.custom_field_values ?? {}, null, matched);
    const row = await storeTask(ctx, board, newTask);
    await addDependencies(ctx, board, row.id, newTask.depends_on_task_ids ?? []);
    await assignTags(ctx, row.id, newTask.tag_ids ?? []);
    await storeFieldValues(ctx, row.id, fields);
    const storeCreation = () => storeEffects(ctx, toCreationEffects(ctx.actor, board, row, agents));
    if (newTask.budget) {
      await storeCreation();
      await insertTaskBudget(ctx, board.organization_id, row.id, newTask.budget);
      return (await readTask(ctx, board.id, row.id))!;
    }
    return new FinalWrites(async () => {
      const [task] = await Promise.all([readTask(ctx, board.id, row.id), storeCreation()]);
      return task!;
    });
  });
}

type NewTask = TaskPatch & Required<Pick<CreateTask, "title" | "status" | "priority">> & Pick<CreateTask, "budget">;

/**
 * Checks a new task in the documented order (docs/reference/tasks.md#creating-a-task). Returns the agents that the task concerns.
 */
async function requireCreatable(ctx: CreatorContext, board: BoardRow, newTask: NewTask): Promise<BoardAgent[]> {
  const { status, assigned_agent_id, depends_on_task_ids = [], tag_ids = [] } = newTask;
  if (depends_on_task_ids.length > 0) await lockDependencies(ctx, board);
  const { error, open_ids } = await readRequestedDependencies(ctx, board, depends_on_task_ids, null);
  if (error) throw error;
  const missing = await listMissingTagIds(ctx, board.organization_id, tag_ids);
  if (missing.length > 0) throw missingTagsError(missing);
  if (open_ids.length > 0 && (assigned_agent_id || !allowsOpenDependencies(status))) throw blockedError(open_ids);
  const agents = await readTaskAgents(ctx, board, null, [assigned_agent_id]);
  if (assigned_agent_id) requireAssignable(toTaskRole(ctx.actor, board), findAssignee(board, agents, assigned_agent_id));
  // A task that is created as `done` must pass the gates of `done`. The comment gate of `review` applies only to moves, so it is
  // open.
  requireOpenGates(board, "inbox", status, { pending: false, approved: false, commented: true });
  return agents;
}

async function storeTask(ctx: CreatorContext, board: BoardRow, newTask: NewTask): Promise<TaskRow> {
  const { status, assigned_agent_id = null } = newTask;
  const { actor } = ctx;
  const times = nextTimes("inbox", status, NEW_TASK_TIMES, ctx.now());
  const origin = {
    created_by_user_id: actor.type === "user" ? actor.user_id : null,
    auto_created: actor.type !== "user",
    auto_reason: actor.type === "user" ? null : `lead_agent:${actor.agent_id}`,
  };
  const set = TASK_TIMES.filter((name) => times[name] !== null);
  const fields = Object.fromEntries(PLAIN_FIELDS.map((name) => [name, newTask[name] ?? null]));
  const values = { board_id: board.id, ...fields, status, assigned_agent_id, ...origin };
  const [row] = await insertTask(ctx.db, ...set).execute({ ...values, ...actingValue(ctx) });
  return row!;
}

const TASK_TIMES = ["in_progress_at", "last_started_at", "done_at"] as const;
const TASK_COLUMNS = [
  "board_id",
  ...PLAIN_FIELDS,
  "status",
  "assigned_agent_id",
  "created_by_user_id",
  "auto_created",
  "auto_reason",
] as const;

/** Inserts a task. The columns in `times` are set to the time of the transaction. */
const insertTask = preparedQuery((db, ...times: (typeof TASK_TIMES)[number][]) =>
  db
    .insert(tasks)
    .values({ ...placeholders(TASK_COLUMNS), ...Object.fromEntries(times.map((name) => [name, sql`now()`])) })
    .returning({ ...getTableColumns(tasks), acting: preparedActor }),
);
