import { and, asc, eq, sql } from "drizzle-orm";
import type { Context } from "../context/context.ts";
import { preparedQuery } from "../db/prepared.ts";
import type { BoardAgent } from "../notification/board-agents.ts";
import { recipientColumns } from "../notification/recipient.ts";
import type { BoardRow } from "../organization/access.ts";
import { agents } from "../schema/agent.sql.ts";
import { gateways } from "../schema/gateway.sql.ts";
import { tasks } from "../schema/task.sql.ts";
import { task_transitions } from "../schema/task-transition.sql.ts";
import { dependentIds } from "./dependency/dependency-columns.ts";

/**
 * Returns the agents that a change of a task concerns: the board's lead, the agents in `ids`, and for a stored task its assignee,
 * the assignees of its dependents, and the agents that submitted it. Other agents are not read, because a board may have hundreds.
 */
export function readTaskAgents(
  ctx: Context,
  { id: board_id, organization_id }: BoardRow,
  task_id: string | null,
  ids: readonly (string | null | undefined)[],
): Promise<BoardAgent[]> {
  const also_ids = ids.filter((id) => id != null);
  return selectAgents(ctx.db, task_id !== null).execute({ board_id, organization_id, task_id, also_ids });
}

const selectAgents = preparedQuery((db, isStored: boolean) => {
  const task_id = sql.placeholder("task_id");
  const ofTask = sql`
    union all select task.assigned_agent_id from ${tasks} as task
      where task.id in (select ${task_id}::uuid union all ${dependentIds(task_id)})
    union all select step.agent_id from ${task_transitions} as step where step.task_id = ${task_id} and step.to_status = 'review'`;
  const concerned = sql`array(
    select lead.id from ${agents} as lead where lead.board_id = ${sql.placeholder("board_id")} and lead.is_board_lead
    union all select unnest(${sql.placeholder("also_ids")}::uuid[])${isStored ? ofTask : sql``})`;
  return db
    .select(recipientColumns)
    .from(agents)
    .innerJoin(gateways, eq(gateways.id, agents.gateway_id))
    .where(and(eq(gateways.organization_id, sql.placeholder("organization_id")), sql`${agents.id} = any(${concerned})`))
    .orderBy(asc(agents.created_at), asc(agents.id));
});
