import { recordEvent } from "../activity/activity.ts";
import { recordAudit } from "../audit/record.ts";
import { actorColumns, type Agent, type User } from "../context/actor.ts";
import type { Context } from "../context/context.ts";
import { describe } from "./announce.ts";
import type { Budget } from "./budget.ts";

type Action = "budget.created" | "budget.updated" | "budget.removed";

const VERBS: Readonly<Record<Action, string>> = {
  "budget.created": "created",
  "budget.updated": "changed",
  "budget.removed": "removed",
};

/** Records in the activity log that somebody changed a budget. */
export async function recordBudgetEvent(ctx: Context<User | Agent>, action: Action, budget: Budget): Promise<void> {
  const { organization_id, board_id, scope, scope_id } = budget;
  const place = { organization_id, board_id, task_id: scope === "task" ? scope_id : null };
  const message = `Budget ${VERBS[action]}: ${describe(budget)}.`;
  await recordEvent(ctx, action, { message, ...place, ...actorColumns(ctx.actor) });
}

/** Records in the audit log that somebody changed a budget. Call it as the last write of the transaction. */
export async function auditBudget(ctx: Context, action: Action, { before, after }: { before?: Budget; after?: Budget }) {
  const { id, organization_id, scope_name } = (after ?? before)!;
  await recordAudit(ctx, action, {
    organization_id,
    target: { id, name: scope_name },
    before: before ? toSettings(before) : null,
    after: after ? toSettings(after) : null,
  });
}

const toSettings = ({ scope, scope_id, period, timezone, limit, reserve, warn_at, on_limit }: Budget) => ({
  scope,
  scope_id,
  period,
  timezone,
  limit,
  reserve,
  warn_at,
  on_limit,
});
