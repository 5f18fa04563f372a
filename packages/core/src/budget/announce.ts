import { eq, inArray } from "drizzle-orm";
import { insertEvents } from "../activity/activity.ts";
import type { NewActivityEvent } from "../activity/event-type.ts";
import { actorColumns, type Agent } from "../context/actor.ts";
import type { Context } from "../context/context.ts";
import type { NewBoardEvent } from "../context/event-body.ts";
import { runBatch } from "../db/batch.ts";
import { preparedQuery } from "../db/prepared.ts";
import { findBoardLead, readBoardAgents } from "../notification/board-agents.ts";
import { insertNotifications, toNotifications } from "../notification/notification.ts";
import { boards } from "../schema/board.sql.ts";
import { budget_spending, budgets } from "../schema/budget.sql.ts";
import { insertBoardEvents } from "../subscription/board-event.ts";
import { oneLine } from "../values/wire.ts";
import { budgetColumns, type Budget, toBudget } from "./budget.ts";
import { sql } from "drizzle-orm";

interface Reached {
  id: string;
  now_warned: boolean;
  now_exhausted: boolean;
}

const selectReached = preparedQuery((db) =>
  db
    .select(budgetColumns)
    .from(budgets)
    .innerJoin(budget_spending, eq(budget_spending.budget_id, budgets.id))
    .where(sql`${budgets.id} = any(${sql.placeholder("ids")}::uuid[])`),
);

/**
 * Announces that budgets have reached their warning or their limit, once per period and in the caller's transaction: in the
 * activity log, to subscriptions, and to the lead of the agent's board.
 */
export async function announceBudgets(ctx: Context<Agent>, reached: readonly Reached[], board_id: string | null): Promise<void> {
  const isNew = reached.filter(({ now_warned, now_exhausted }) => now_warned || now_exhausted);
  if (isNew.length === 0) return;
  const now = ctx.now();
  const rows = await selectReached(ctx.db).execute({ ids: isNew.map(({ id }) => id), now: now.toISOString() });
  const [board] =
    board_id === null
      ? []
      : await ctx.db
          .select()
          .from(boards)
          .where(inArray(boards.id, [board_id]));
  const lead = board && findBoardLead(board, await readBoardAgents(ctx, board));
  const events: NewActivityEvent[] = [];
  const board_events: NewBoardEvent[] = [];
  const notifications: ReturnType<typeof toNotifications> = [];
  for (const row of rows) {
    const budget = toBudget(row, now);
    const { now_exhausted } = isNew.find(({ id }) => id === row.id)!;
    const type = now_exhausted ? "budget.exhausted" : "budget.warned";
    const message = `${now_exhausted ? "Budget spent" : "Budget almost spent"}: ${describe(budget)}.`;
    const place = { organization_id: row.organization_id, board_id: board?.id ?? null, task_id: row.task_id };
    events.push({ event_type: type, message, ...place, ...actorColumns(ctx.actor) });
    if (now_exhausted) ctx.meter.record("BudgetExhausted", 1, { scope: budget.scope });
    if (!board) continue;
    const { scope, scope_id, period } = budget;
    const subject = { type: "budget" as const, id: row.id };
    board_events.push({ type, organization_id: row.organization_id, board_id: board.id, subject, scope, scope_id, period });
    if (lead) notifications.push(...toNotifications(lead, { message: leadText(board.name, budget, now_exhausted) }));
  }
  await runBatch(ctx, [
    insertEvents(events),
    ...insertNotifications(ctx, notifications),
    ...insertBoardEvents(ctx, board_events),
  ]);
}

const PERIODS = { day: " today", month: " this month", total: "" };

/** Describes how much of each limit is spent, for example "board, 9.5 of 10 USD this month". */
export function describe({ scope, spent, limit, period }: Budget): string {
  const parts = [
    ...(limit.cost_usd === null ? [] : [`${spent.cost_usd} of ${limit.cost_usd} USD`]),
    ...(limit.total_tokens === null ? [] : [`${spent.total_tokens} of ${limit.total_tokens} tokens`]),
    ...(limit.runs === null ? [] : [`${spent.runs} of ${limit.runs} runs`]),
  ];
  return `${scope}, ${parts.join(", ")}${PERIODS[period]}`;
}

function leadText(board_name: string, budget: Budget, isExhausted: boolean): string {
  const stops =
    budget.on_limit === "stop"
      ? "its runs were stopped, and no task is given out until a person raises it or it resets"
      : "work goes on";
  return [
    isExhausted ? "BUDGET SPENT" : "BUDGET ALMOST SPENT",
    `Board: ${oneLine(board_name)}`,
    `Budget: ${describe(budget)}`,
    "",
    isExhausted
      ? `Take action: none; ${stops}. Tell those who wait for the work.`
      : "Take action: let the most important tasks come first, and start nothing that can wait.",
  ].join("\n");
}
