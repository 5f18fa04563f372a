import type { Budget, BudgetCreate, BudgetUpdate } from "../types.ts";

/** What is typed into the form, as text, so that nothing is lost before the service has accepted it. */
export interface Typed {
  scope: Budget["scope"];
  scope_id: string;
  period: Budget["period"];
  timezone: string;
  "limit.cost_usd": string;
  "limit.total_tokens": string;
  "limit.runs": string;
  "reserve.cost_usd": string;
  "reserve.total_tokens": string;
  warn_at: string;
  on_limit: Budget["on_limit"];
}

const PERCENT = 100;

export const NEW: Typed = {
  scope: "organization",
  scope_id: "",
  period: "month",
  timezone: Intl.DateTimeFormat().resolvedOptions().timeZone,
  "limit.cost_usd": "",
  "limit.total_tokens": "",
  "limit.runs": "",
  "reserve.cost_usd": "",
  "reserve.total_tokens": "",
  warn_at: "80",
  on_limit: "stop",
};

export function toTyped({ limit, reserve, warn_at, scope, scope_id, period, timezone, on_limit }: Budget): Typed {
  const text = (value: string | number | null) => (value === null ? "" : String(value));
  return {
    scope,
    scope_id,
    period,
    timezone,
    on_limit,
    "limit.cost_usd": text(limit.cost_usd),
    "limit.total_tokens": text(limit.total_tokens),
    "limit.runs": text(limit.runs),
    "reserve.cost_usd": text(reserve.cost_usd),
    "reserve.total_tokens": text(reserve.total_tokens),
    warn_at: text(Math.round(warn_at * PERCENT)),
  };
}

/** Returns a number. A text that is not a number is sent as it was typed, so that the service says what is wrong with it. */
function toNumber(text: string): number | string | null {
  const trimmed = text.trim();
  if (trimmed === "") return null;
  return Number.isFinite(Number(trimmed)) ? Number(trimmed) : trimmed;
}

const toCost = (text: string): string | null => text.trim().replace(/^\$\s*/, "") || null;

/** Returns the request body. The scope is only in the body of a new budget, because it cannot be changed later. */
export function toBody(typed: Typed, isNew: boolean): BudgetCreate & BudgetUpdate {
  const { scope, scope_id, period, timezone, on_limit } = typed;
  const warn_at = toNumber(typed.warn_at);
  return {
    ...(isNew ? { scope, ...(scope === "organization" ? {} : { scope_id }) } : {}),
    period,
    timezone: timezone.trim(),
    on_limit,
    limit: {
      cost_usd: toCost(typed["limit.cost_usd"]),
      total_tokens: toNumber(typed["limit.total_tokens"]),
      runs: toNumber(typed["limit.runs"]),
    },
    reserve: { cost_usd: toCost(typed["reserve.cost_usd"]), total_tokens: toNumber(typed["reserve.total_tokens"]) },
    ...(warn_at === null ? {} : { warn_at: typeof warn_at === "number" ? warn_at / PERCENT : warn_at }),
    // The cast hides that the fields may contain any text. The service refuses a wrong text with the reason.
  } as BudgetCreate & BudgetUpdate;
}
