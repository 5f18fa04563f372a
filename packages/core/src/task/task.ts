import { getTableColumns, sql } from "drizzle-orm";
import * as z from "zod";
import { TagLabel } from "../tag/tag.ts";
import { tag_assignments, tags } from "../tag/tag.sql.ts";
import { Id, Instant } from "../wire.ts";
import { board_task_custom_fields, task_custom_field_definitions, task_custom_field_values } from "./custom-field.sql.ts";
import { task_dependencies } from "./dependency.sql.ts";
import { tasks } from "./task.sql.ts";

export const TaskStatus = z.enum(["inbox", "in_progress", "review", "done", "blocked"]);
export type TaskStatus = z.infer<typeof TaskStatus>;

export const Task = z
  .object({
    id: Id.describe("Id of the task."),
    board_id: Id.describe("Board that the task is on."),
    title: z.string().describe("What is to be done, in a line."),
    description: z.string().nullable().describe("What is to be done, in full."),
    status: TaskStatus.describe("Where the task stands."),
    priority: z.string().describe("`high`, `medium` and `low` rank in this order, before all others."),
    due_at: Instant.nullable().describe("When it should be done."),
    assigned_agent_id: Id.nullable().describe("Agent that works on it."),
    created_by_user_id: Id.nullable().describe("Person who created it; null when an agent did."),
    in_progress_at: Instant.nullable().describe("Start of the current work cycle."),
    depends_on_task_ids: z.array(Id).describe("Tasks that must be done first."),
    blocked_by_task_ids: z.array(Id).describe("Those of them that are not done; none once the task itself is."),
    is_blocked: z.boolean().describe("Whether it waits for another task."),
    tag_ids: z.array(Id).describe("Ids of its tags."),
    tags: z.array(TagLabel).describe("Its tags, in the order they were given."),
    custom_field_values: z
      .record(z.string(), z.unknown())
      .describe("Every custom field of the board by key: the task's value, else the field's default."),
    created_at: Instant.describe("When the task was made."),
    updated_at: Instant.describe("When the task last changed."),
  })
  .meta({ id: "Task", description: "A piece of work on a board." });
export type Task = z.infer<typeof Task>;

interface Dependency {
  id: string;
  open: boolean;
}

// What belongs to a task is read with it, so that a list of any length is one statement. Each part goes by an index.
const dependencies = sql<Dependency[]>`coalesce((
  select jsonb_agg(jsonb_build_object('id', other.id, 'open', other.status <> 'done') order by link.position, link.id)
  from ${task_dependencies} as link join ${tasks} as other on other.id = link.depends_on_task_id
  where link.task_id = ${tasks}.id), '[]')`;

export const taskLabels = sql<TagLabel[]>`coalesce((
  select jsonb_agg(jsonb_build_object('id', tag.id, 'name', tag.name, 'slug', tag.slug, 'color', tag.color)
    order by given.position, given.id)
  from ${tag_assignments} as given join ${tags} as tag on tag.id = given.tag_id
  where given.task_id = ${tasks}.id), '[]')`;

/** An explicit null overrides the default, so that a value is looked for by its row. */
const custom_field_values = sql<Record<string, unknown>>`coalesce((
  select jsonb_object_agg(field.field_key, case when given.id is null then field.default_value else given.value end)
  from ${board_task_custom_fields} as bound
  join ${task_custom_field_definitions} as field on field.id = bound.definition_id
  left join ${task_custom_field_values} as given on given.definition_id = field.id and given.task_id = ${tasks}.id
  where bound.board_id = ${tasks}.board_id), '{}')`;

/** What a select over `tasks` takes for `toTask`. */
export const taskColumns = { ...getTableColumns(tasks), dependencies, tags: taskLabels, custom_field_values };

type Row = typeof tasks.$inferSelect & {
  dependencies: Dependency[];
  tags: TagLabel[];
  custom_field_values: Record<string, unknown>;
};

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
    created_by_user_id: row.created_by_user_id,
    in_progress_at: row.in_progress_at?.toISOString() ?? null,
    depends_on_task_ids: row.dependencies.map(({ id }) => id),
    blocked_by_task_ids,
    is_blocked: blocked_by_task_ids.length > 0,
    tag_ids: row.tags.map(({ id }) => id),
    tags: row.tags,
    custom_field_values: row.custom_field_values,
    created_at: row.created_at.toISOString(),
    updated_at: row.updated_at.toISOString(),
  };
}
