import { sql } from "drizzle-orm";
import type { Agent } from "../context/actor.ts";
import type { Context } from "../context/context.ts";
import { rowsOf } from "../db/database.ts";
import { preparedQuery } from "../db/prepared.ts";
import type { BoardRow } from "../organization/access.ts";
import { DomainError } from "../values/errors.ts";
import { announceBudgets } from "./announce.ts";

/** The longest time, in seconds, that a refused agent is asked to wait. It is short, because a budget may be raised at any time. */
const MAX_RETRY = 3_600;

/** The error for a run that is refused because a budget has no room for it (docs/reference/budgets.md#work). */
export class BudgetExhausted extends DomainError {
  /** Ids of the budgets that have no room. */
  readonly budget_ids: string[];
  /**
   * True if a budget of the organization or agent refused the run. Then there is no room for a run on any other board or task
   * either.
   */
  readonly is_final: boolean;
  /** True if only the task's own budget refused the run, so that there may be room for a run on another task. */
  readonly is_of_task: boolean;
  readonly retry_after_seconds: number;
  constructor(refused: readonly RefusedRow[], now: Date) {
    const resets = refused.map(({ ends_at }) =>
      ends_at === null ? MAX_RETRY : (new Date(ends_at).getTime() - now.getTime()) / 1000,
    );
    const retry_after_seconds = Math.max(1, Math.min(MAX_RETRY, Math.ceil(Math.max(...resets))));
    const budget_ids = refused.map(({ id }) => id);
    super("conflict", "The budget for this work is spent, so no run can begin now.", {
      fields: { code: "budget_exhausted", budget_ids },
      retry_after_seconds,
    });
    this.budget_ids = budget_ids;
    this.is_final = refused.some(({ scope }) => scope === "organization" || scope === "agent");
    this.is_of_task = refused.every(({ scope }) => scope === "task");
    this.retry_after_seconds = retry_after_seconds;
  }
}

interface RefusedRow {
  id: string;
  refused: boolean;
  scope: string;
  ends_at: string | null;
  now_warned: boolean;
  now_exhausted: boolean;
}

const beginning = preparedQuery(
  () => sql`select id, refused, scope, ends_at::text, now_warned, now_exhausted from begin_run_in_budgets(
    ${sql.placeholder("organization_id")}::uuid, ${sql.placeholder("board_id")}::uuid, ${sql.placeholder("agent_id")}::uuid,
    ${sql.placeholder("task_id")}::uuid, ${sql.placeholder("now")}::timestamptz)`,
);

/**
 * Counts a run that an agent begins, in the transaction of the lease. Throws `BudgetExhausted` if a budget that stops runs has no
 * room for it. Sends no statement if the organization has no budget.
 */
export async function beginRunInBudgets(ctx: Context<Agent>, board: BoardRow, task_id: string): Promise<void> {
  const { agent_id, organization_id, has_budgets } = ctx.actor;
  if (!has_budgets) return;
  const now = ctx.now();
  const values = { organization_id, board_id: board.id, agent_id, task_id, now: now.toISOString() };
  const rows = rowsOf<RefusedRow>(await beginning(ctx.db).execute(values));
  const refused = rows.filter((row) => row.refused);
  if (refused.length > 0) throw new BudgetExhausted(refused, now);
  const reached = rows.map((row) => ({ ...row, is_spent: false }));
  if (reached.length > 0) await announceBudgets(ctx, organization_id, reached, [{ board_id: board.id }]);
}
