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
 * Puts the tasks that depend on a reopened one back into the inbox, free for anybody; done ones stay done. The caller holds
 * them all. One statement: the inner part keeps what they were.
 */
export async function returnDependents(ctx: Context, board: BoardRow, task_id: string): Promise<Returned[]> {
  const found = await ctx.db.execute(sql`
    with waiting as materialized (
      select id, title, description, status, assigned_agent_id, created_at,
        status <> 'blocked' and (status <> 'inbox' or assigned_agent_id is not null) as moves
      from ${tasks}
      where board_id = ${board.id} and status <> 'done'
        and id in (select link.task_id from ${task_dependencies} as link where link.depends_on_task_id = ${task_id})),
    moved as (
      update ${tasks} as task set status = 'inbox', assigned_agent_id = null, in_progress_at = null, updated_at = now()
      from waiting where task.id = waiting.id and waiting.moves returning task.id)
    select id, title, description, status as from_status, assigned_agent_id as former,
      id in (select id from moved) as moved
    from waiting order by created_at, id`);
  return rowsOf<Returned>(found);
}
