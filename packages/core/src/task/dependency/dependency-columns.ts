import { type Placeholder, type SQL, sql } from "drizzle-orm";
import { aggregatedList } from "../../lists/large-fields.ts";
import { task_dependencies } from "../../schema/task-dependency.sql.ts";
import type { TaskRow } from "../status-rules.ts";
import { tasks } from "../../schema/task.sql.ts";

export interface Dependency {
  id: string;
  open: boolean;
}

/** A task that depends on another one. */
export interface Dependent extends Pick<TaskRow, "id" | "status" | "assigned_agent_id"> {
  open: boolean;
}

/** A column of a select over `tasks`: the dependencies of the task, in the order in which they were sent. */
const aggregated = aggregatedList<Dependency>(
  sql`json_agg(json_build_object('id', other.id, 'open', other.status <> 'done') order by link.position, link.id)`,
  sql`from ${task_dependencies} as link join ${tasks} as other on other.id = link.depends_on_task_id
    where link.task_id = ${tasks}.id`,
);
export const dependencies = aggregated.column;

/**
 * Tells how a large answer shortens `dependencies`. Open dependencies come first, so that the shortened list still shows that the
 * task is blocked.
 */
export const largeDependencies = {
  ...aggregated,
  shorten: (column: SQL) => {
    const pick = (open: string) => sql`jsonb_path_query_array(${column}::jsonb, ${sql.raw(`'$[*] ? (@.open == ${open})'`)})`;
    return aggregated.shorten(sql`(${pick("true")} || ${pick("false")})`);
  },
  shown_as: ["depends_on_task_ids", "blocked_by_task_ids"],
};

/** A column of a select over `tasks`: the tasks that depend on the task, oldest first. */
export const dependents = sql<Dependent[]>`coalesce((
  select jsonb_agg(jsonb_build_object('id', other.id, 'open', other.status <> 'done', 'status', other.status,
    'assigned_agent_id', other.assigned_agent_id) order by other.created_at, other.id)
  from ${task_dependencies} as link join ${tasks} as other on other.id = link.task_id
  where link.depends_on_task_id = ${tasks}.id), '[]')`;

/** A condition on `tasks`: whether the task has a dependency that is not done. */
export const hasOpenDependency = sql`exists (
  select 1 from ${task_dependencies} as link join ${tasks} as other on other.id = link.depends_on_task_id
  where link.task_id = ${tasks}.id and other.status <> 'done')`;

/** Returns a subquery for the ids of the tasks that depend on this task. */
export const dependentIds = (task_id: string | Placeholder): SQL =>
  sql`select link.task_id from ${task_dependencies} as link where link.depends_on_task_id = ${task_id}`;
