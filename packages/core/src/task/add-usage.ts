import { type SQL, sql } from "drizzle-orm";
import { tasks } from "../schema/task.sql.ts";

/**
 * Builds the statement that adds the new usage entries in `used` to the sums of their tasks. The `updated_at` of the tasks stays
 * the same.
 */
export const addToTasks = (used: SQL): SQL => sql`
  update ${tasks} as task set
    total_tokens = task.total_tokens + added.total_tokens,
    cost_usd = case when added.cost_usd is null then task.cost_usd else trim_scale(coalesce(task.cost_usd, 0) + added.cost_usd) end
  from (
    select used.task_id, used.board_id, sum(used.input_tokens + used.output_tokens)::bigint as total_tokens,
      sum(used.cost_usd) as cost_usd
    from ${used} as used where used.task_id is not null group by used.task_id, used.board_id
  ) as added
  where task.id = added.task_id and task.board_id = added.board_id
  returning task.id`;
