import { type SQL, sql } from "drizzle-orm";
import type { ReachedBudget } from "../budget/reached.ts";
import type { Agent, User } from "../context/actor.ts";
import type { Context } from "../context/context.ts";
import { rowsOf } from "../db/database.ts";
import { stopRuns } from "../run/stop.ts";
import { boards } from "../schema/board.sql.ts";
import { runs } from "../schema/run.sql.ts";

/** Stops all running runs under budgets that have reached their limit, in the transaction that reached it. */
export async function stopRunsUnder(
  ctx: Context<User | Agent>,
  organization_id: string,
  reached: readonly ReachedBudget[],
): Promise<void> {
  const ofOrganization = sql`run.board_id in (
    select board.id from ${boards} as board where board.organization_id = ${organization_id})`;
  const under = reached.map(({ scope, board_id, agent_id, task_id }): SQL => {
    if (scope === "board") return sql`run.board_id = ${board_id}::uuid`;
    if (scope === "agent") return sql`run.agent_id = ${agent_id}::uuid`;
    return scope === "task" ? sql`run.task_id = ${task_id}::uuid` : sql`true`;
  });
  const found = await ctx.db.execute(sql`
    select run.id, run.board_id from ${runs} as run
    where run.status = 'running' and ${ofOrganization} and (${sql.join(under, sql` or `)}) order by run.task_id`);
  const running = rowsOf<{ id: string; board_id: string }>(found);
  await stopRuns(ctx, organization_id, running, "The budget is spent.");
}
