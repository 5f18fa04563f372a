import { and, asc, eq, inArray, sql } from "drizzle-orm";
import { insertEvents } from "../activity/activity.ts";
import type { NewActivityEvent } from "../activity/event-type.ts";
import { actorColumns, type Agent, type User } from "../context/actor.ts";
import type { Context } from "../context/context.ts";
import type { NewBoardEvent } from "../context/event-body.ts";
import { runBatch } from "../db/batch.ts";
import { preparedQuery } from "../db/prepared.ts";
import { findBoardLead, readBoardAgents } from "../notification/board-agents.ts";
import { insertNotifications, type Notification, toNotifications } from "../notification/notification.ts";
import { agents } from "../schema/agent.sql.ts";
import { boards } from "../schema/board.sql.ts";
import { budget_spending, budgets } from "../schema/budget.sql.ts";
import { insertBoardEvents } from "../subscription/board-event.ts";
import { oneLine } from "../values/wire.ts";
import { budgetColumns, type Budget, toBudget } from "./budget.ts";

/** A budget that may just have reached its warning or its limit. */
export interface Reached {
  id: string;
  /** True if tokens or dollars are spent, so that running runs have to stop. False if only the number of runs is used up. */
  is_spent: boolean;
  now_warned: boolean;
  now_exhausted: boolean;
}

const selectReached = preparedQuery((db) =>
  db
    .select({
      ...budgetColumns,
      agent_board_id: sql<string | null>`(select agent.board_id from ${agents} as agent where agent.id = ${budgets.agent_id})`,
    })
    .from(budgets)
    .innerJoin(budget_spending, eq(budget_spending.budget_id, budgets.id))
    .where(sql`${budgets.id} = any(${sql.placeholder("ids")}::uuid[])`),
);

/**
 * Announces that budgets have reached their warning or their limit, once per period and in the caller's transaction: in the
 * activity log, to subscriptions, to people, and to the lead of the board. A budget of an organization or an agent is announced
 * on a board on which it was spent, or on the agent's board. Without a board, as for a main agent, only the lead is left out.
 */
export async function announceBudgets(
  ctx: Context<User | Agent>,
  organization_id: string,
  reached: readonly Reached[],
  spent: readonly { board_id: string | null }[],
): Promise<void> {
  const isNew = reached.filter(({ now_warned, now_exhausted }) => now_warned || now_exhausted);
  if (isNew.length === 0) return;
  const now = ctx.now();
  const rows = await selectReached(ctx.db).execute({ ids: isNew.map(({ id }) => id), now: now.toISOString() });
  const spent_on = spent.find(({ board_id }) => board_id !== null)?.board_id ?? null;
  const placeOf = (row: (typeof rows)[number]) => row.on_board_id ?? spent_on ?? row.agent_board_id;
  const places = await readPlaces(
    ctx,
    organization_id,
    rows.flatMap((row) => placeOf(row) ?? []),
  );
  const events: NewActivityEvent[] = [];
  const board_events: NewBoardEvent[] = [];
  const notifications: Notification[] = [];
  for (const row of rows) {
    const budget = toBudget(row, now);
    const { now_exhausted, is_spent } = isNew.find(({ id }) => id === row.id)!;
    const { board, lead } = places.get(placeOf(row)) ?? {};
    const board_id = board?.id ?? null;
    const type = now_exhausted ? "budget.exhausted" : "budget.warned";
    const message = `${now_exhausted ? "Budget spent" : "Budget almost spent"}: ${describe(budget)}.`;
    events.push({ event_type: type, message, organization_id, board_id, task_id: row.task_id, ...actorColumns(ctx.actor) });
    const { scope, scope_id, period } = budget;
    board_events.push({ type, organization_id, board_id, subject: { type: "budget", id: row.id }, scope, scope_id, period });
    if (now_exhausted) ctx.meter.record("BudgetExhausted", 1, { scope });
    if (board && lead)
      notifications.push(...toNotifications(lead, { message: leadText(board.name, budget, now_exhausted, is_spent) }));
  }
  await runBatch(ctx, [
    insertEvents(events),
    ...insertNotifications(ctx, notifications),
    ...insertBoardEvents(ctx, board_events),
  ]);
}

/** Returns the boards with their leads, by id. The lock keeps the boards until the rows that refer to them are stored. */
async function readPlaces(ctx: Context, organization_id: string, board_ids: readonly string[]) {
  const places = new Map<string | null, { board: typeof boards.$inferSelect; lead: ReturnType<typeof findBoardLead> }>();
  if (board_ids.length === 0) return places;
  const found = await ctx.db
    .select()
    .from(boards)
    .where(and(eq(boards.organization_id, organization_id), inArray(boards.id, [...new Set(board_ids)])))
    .orderBy(asc(boards.id))
    .for("key share");
  for (const board of found) places.set(board.id, { board, lead: findBoardLead(board, await readBoardAgents(ctx, board)) });
  return places;
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

function leadText(board_name: string, budget: Budget, isExhausted: boolean, isSpent: boolean): string {
  return [
    isExhausted ? "BUDGET SPENT" : "BUDGET ALMOST SPENT",
    `Board: ${oneLine(board_name)}`,
    `Budget: ${describe(budget)}`,
    "",
    isExhausted
      ? `Take action: tell those who wait for the work that ${effectOf(budget, isSpent)}.`
      : "Take action: let the most important tasks come first, and start nothing that can wait.",
  ].join("\n");
}

function effectOf({ on_limit }: Budget, isSpent: boolean): string {
  if (on_limit === "warn") return "work goes on";
  const running = isSpent ? "the runs were stopped, and" : "running work goes on, but";
  return `${running} no task is given out until a person raises the budget or it resets`;
}
