import { sql } from "drizzle-orm";
import type { BoardRow } from "../../organization/access.ts";
import type { Context } from "../../context/context.ts";
import { rowsOf } from "../../db/database.ts";
import { dependentIds } from "./dependency-columns.ts";
import { lostLease } from "../lease/lease-state.ts";
import type { TaskStatus } from "../task-status.ts";
import { tasks } from "../../schema/task.sql.ts";

/** The state of a task that depends on a reopened task, before it was returned to the inbox. */
export interface ReturnedTask {
  id: string;
  title: string;
  description: string | null;
  from_status: TaskStatus;
  former_assignee_id: string | null;
  /** False for a task that does not change, because it is blocked or is already unassigned in the inbox. */
  moved: boolean;
}

/**
 * Moves the tasks that depend on a reopened task to the inbox and unassigns them, except done tasks. Returns their state before the
 * move. The caller must have locked them.
 */
export async function returnDependentsToInbox(ctx: Context, board: BoardRow, task_id: string): Promise<ReturnedTask[]> {
  const found = await ctx.db.execute(sql`
    with waiting as materialized (
      select id, title, description, status, assigned_agent_id, created_at,
        status <> 'blocked' and (status <> 'inbox' or assigned_agent_id is not null) as moves
      from ${tasks}
      where board_id = ${board.id} and status <> 'done' and id in (${dependentIds(task_id)})),
    moved as (
      update ${tasks} as task set status = 'inbox', assigned_agent_id = null, in_progress_at = null, updated_at = now(),
        ${lostLease}
      from waiting where task.id = waiting.id and waiting.moves returning task.id)
    select id, title, description, status as from_status, assigned_agent_id as former_assignee_id,
      id in (select id from moved) as moved
    from waiting order by created_at, id`);
  return rowsOf<ReturnedTask>(found);
}
