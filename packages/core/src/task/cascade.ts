import { sql } from "drizzle-orm";
import type { BoardRow } from "../access.ts";
import type { Context } from "../context.ts";
import { rowsOf } from "../db/database.ts";
import { task_dependencies } from "./dependency.sql.ts";
import type { TaskStatus } from "./task.ts";
import { tasks } from "./task.sql.ts";

/** A task that waited for a reopened one, as it was before. */
export interface Returned {
  id: string;
  title: string;
  description: string | null;
  from_status: TaskStatus;
  former: string | null;
  /** It was neither in the inbox and free already, nor set to blocked by hand. */
  moved: boolean;
}

/**
 * Puts the tasks that depend on a reopened one back into the inbox, free for anybody; done ones stay done. One statement:
 * the inner part holds them all and keeps what they were. Only of a held task is it sure that it is done, and not just
 * being reopened by somebody who still found its dependency finished.
 */
export async function returnDependents(ctx: Context, board: BoardRow, task_id: string): Promise<Returned[]> {
  const found = await ctx.db.execute(sql`
    with held as materialized (
      select id, title, description, status, assigned_agent_id, created_at,
        status not in ('done', 'blocked') and (status <> 'inbox' or assigned_agent_id is not null) as moves
      from ${tasks}
      where board_id = ${board.id}
        and id in (select link.task_id from ${task_dependencies} as link where link.depends_on_task_id = ${task_id})
      order by id for no key update),
    moved as (
      update ${tasks} as task set status = 'inbox', assigned_agent_id = null, in_progress_at = null, updated_at = now()
      from held where task.id = held.id and held.moves returning task.id)
    select held.id, title, description, status as from_status, assigned_agent_id as former,
      held.id in (select id from moved) as moved
    from held where status <> 'done' order by held.created_at, held.id`);
  return rowsOf<Returned>(found);
}
