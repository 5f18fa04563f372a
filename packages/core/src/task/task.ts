import { and, eq, getTableColumns, sql } from "drizzle-orm";
import * as z from "zod";
import type { Context } from "../context/context.ts";
import { preparedQuery } from "../db/prepared.ts";
import { aggregatedObject, largeText, truncatable } from "../lists/large-fields.ts";
import { TagLabel } from "../tag/tag.ts";
import { largeTaskTags, taskTags } from "../tag/task-tags.ts";
import { Id, Instant, lazyObject } from "../values/wire.ts";
import { TaskLease, toLease } from "./lease/lease-state.ts";
import { TaskRun, TaskUsage, toTaskRun, toTaskUsage } from "./task-run.ts";
import {
  board_task_custom_fields,
  task_custom_field_definitions,
  task_custom_field_values,
} from "../schema/task-custom-field.sql.ts";
import { dependencies, type Dependency, largeDependencies } from "./dependency/dependency-columns.ts";
import { tasks } from "../schema/task.sql.ts";
import { TaskStatus } from "./task-status.ts";

export const Task = lazyObject(() => ({
  id: Id.describe("Id of the task."),
  board_id: Id.describe("Board that the task is on."),
  title: z.string().describe("What has to be done, in one line."),
  description: z.string().nullable().describe("What has to be done, in full."),
  status: TaskStatus.describe("State of the task."),
  priority: z.string().describe("`high`, `medium` and `low` rank in this order, before all other words."),
  due_at: Instant.nullable().describe("When it is due."),
  assigned_agent_id: Id.nullable().describe("Agent that the task is assigned to."),
  submitted_by_agent_id: Id.nullable().describe(
    "Agent whose work waits for review; null in other states, and when a person did it.",
  ),
  created_by_user_id: Id.nullable().describe("Person who created it; null for an agent's task."),
  in_progress_at: Instant.nullable().describe("Start of the current work cycle."),
  depends_on_task_ids: z.array(Id).describe("Tasks that must be done first."),
  blocked_by_task_ids: z.array(Id).describe("Dependencies that are not done; empty when the task itself is done."),
  is_blocked: z.boolean().describe("Whether `blocked_by_task_ids` has any ids."),
  tag_ids: z.array(Id).describe("Ids of its tags."),
  tags: z.array(TagLabel).describe("Its tags, in the order of `tag_ids`."),
  custom_field_values: z
    .record(z.string(), z.unknown())
    .describe("One key for every custom field of the board: the task's value, else the field's default."),
  lease: TaskLease.nullable().describe("The time for which the assigned agent holds the task; null without a lease."),
  run: TaskRun.nullable().describe("The latest attempt of an agent on the task; null before the first."),
  usage: TaskUsage.describe("What all attempts on the task have used."),
  created_at: Instant.describe("When the task was created."),
  updated_at: Instant.describe("When the task last changed."),
  ...truncatable,
})).meta({ id: "Task", description: "A piece of work on a board." });
export type Task = z.infer<typeof Task>;

/** A stored null takes precedence over the default. So the `case` tests whether the row exists, not whether its value is null. */
const customFieldValues = aggregatedObject(
  sql`json_object_agg(field.field_key, case when stored.id is null then field.default_value else stored.value end
    order by lower(field.label), field.id)`,
  sql`from ${board_task_custom_fields} as bound
    join ${task_custom_field_definitions} as field on field.id = bound.definition_id
    left join ${task_custom_field_values} as stored on stored.definition_id = field.id and stored.task_id = ${tasks}.id
    where bound.board_id = ${tasks}.board_id`,
);

/**
 * The columns that `toTask` needs. Subqueries add a task's tags, dependencies and fields, so that a list needs only one
 * statement.
 */
export const taskColumns = {
  ...getTableColumns(tasks),
  dependencies,
  tags: taskTags,
  custom_field_values: customFieldValues.column,
};

/** The fields of a task that a list shortens when the answer would be too large. */
export const LARGE_TASK_FIELDS = {
  description: largeText,
  dependencies: largeDependencies,
  tags: { ...largeTaskTags, shown_as: ["tag_ids", "tags"] },
  custom_field_values: customFieldValues,
};

type Row = typeof tasks.$inferSelect & {
  dependencies: Dependency[];
  tags: TagLabel[];
  custom_field_values: Record<string, unknown>;
};

/**
 * Returns the condition that finds a task. It includes the board to which access was checked, so that a task of another board is
 * not found.
 */
export const taskCondition = (board_id: string, task_id: string) => and(eq(tasks.id, task_id), eq(tasks.board_id, board_id));

/** `taskCondition` for prepared queries, with the placeholders `task_id` and `board_id`. */
export const isTask = and(eq(tasks.id, sql.placeholder("task_id")), eq(tasks.board_id, sql.placeholder("board_id")))!;

const selectTask = preparedQuery((db) => db.select(taskColumns).from(tasks).where(isTask));

export async function readTask(ctx: Context, board_id: string, task_id: string): Promise<Task | undefined> {
  const [row] = await selectTask(ctx.db).execute({ board_id, task_id });
  return row && toTask(row);
}

export function toTask(row: Row): Task {
  const blocked_by_task_ids = row.status === "done" ? [] : row.dependencies.filter(({ open }) => open).map(({ id }) => id);
  return {
    id: row.id,
    board_id: row.board_id,
    title: row.title,
    description: row.description,
    status: row.status,
    priority: row.priority,
    due_at: row.due_at?.toISOString() ?? null,
    assigned_agent_id: row.assigned_agent_id,
    submitted_by_agent_id: row.status === "review" ? row.submitted_by_agent_id : null,
    created_by_user_id: row.created_by_user_id,
    in_progress_at: row.in_progress_at?.toISOString() ?? null,
    depends_on_task_ids: row.dependencies.map(({ id }) => id),
    blocked_by_task_ids,
    is_blocked: blocked_by_task_ids.length > 0,
    tag_ids: row.tags.map(({ id }) => id),
    tags: row.tags,
    custom_field_values: row.custom_field_values,
    lease: toLease(row),
    run: toTaskRun(row),
    usage: toTaskUsage(row),
    created_at: row.created_at.toISOString(),
    updated_at: row.updated_at.toISOString(),
  };
}
