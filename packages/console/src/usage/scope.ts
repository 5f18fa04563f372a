import { boardName } from "../session.ts";
import type { Budget } from "../types.ts";
import { toDollars, toWhole } from "../ui/figures.ts";
import { toPlain } from "../ui/plain.ts";

/** Names what a budget limits: the organization, a board, an agent or a task. */
export function scopeName({ scope, scope_id, scope_name }: Budget): string {
  if (scope === "organization") return "The whole organization";
  return scope === "board" ? boardName(scope_id) : toPlain(scope_name ?? scope_id);
}

/** Describes how much of each limit was spent. */
export const spentText = ({ limit, spent }: Budget): string =>
  [
    ...(limit.cost_usd === null ? [] : [`${toDollars(spent.cost_usd)} of ${toDollars(limit.cost_usd)}`]),
    ...(limit.total_tokens === null ? [] : [`${toWhole(spent.total_tokens)} of ${toWhole(limit.total_tokens)} tokens`]),
    ...(limit.runs === null ? [] : [`${toWhole(spent.runs)} of ${toWhole(limit.runs)} runs`]),
  ].join(", ");
