import { api } from "../api.ts";
import type { Budget, BudgetCreate, BudgetUpdate, UsageGrouping, UsageMetrics } from "../types.ts";
import { saveAs } from "../ui/save.ts";

export interface UsageQuery {
  range_key: UsageMetrics["range"];
  group_by: UsageGrouping;
  board_id?: string;
  group_id?: string;
}

export const readUsage = (query: UsageQuery, signal: AbortSignal): Promise<UsageMetrics> =>
  api.get("/api/v1/metrics/usage", { params: { query }, signal });

/** Saves the rows of a query as a CSV file. */
export async function saveCsv(query: UsageQuery): Promise<void> {
  // The cast is necessary because the typed client knows only paths that answer with JSON.
  const path = "/api/v1/metrics/usage.csv" as "/api/v1/metrics/usage";
  const text = (await api.get(path, { params: { query }, parseAs: "text" })) as unknown as string;
  saveAs(`usage-by-${query.group_by}.csv`, new Blob([text], { type: "text/csv" }));
}

const LIMIT = 200;
const ITEM = "/api/v1/budgets/{budget_id}";

export const readBudgets = (signal: AbortSignal) => api.get("/api/v1/budgets", { params: { query: { limit: LIMIT } }, signal });

export const readScopeBudgets = (scope: "task" | "agent", scope_id: string, signal: AbortSignal) =>
  api.get("/api/v1/budgets", { params: { query: { scope, scope_id } }, signal });

/** Reads a budget and the ETag of that version. */
export async function readBudget(budget_id: string): Promise<{ budget: Budget; tag: string }> {
  const { data, headers } = await api.send("get", ITEM, { params: { path: { budget_id } } });
  return { budget: data, tag: headers.get("ETag") ?? "*" };
}

export const createBudget = (body: BudgetCreate) => api.post("/api/v1/budgets", { body });

export const changeBudget = (budget_id: string, tag: string, body: BudgetUpdate) =>
  api.patch(ITEM, { params: { path: { budget_id }, header: { "If-Match": tag } }, body });

export const removeBudget = (budget_id: string, tag: string) =>
  api.delete(ITEM, { params: { path: { budget_id }, header: { "If-Match": tag } } });
