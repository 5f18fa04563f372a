import * as z from "zod";
import { pageQuery } from "../lists/page.ts";
import { BUDGET_PERIODS, BUDGET_SCOPES, ON_LIMIT } from "../schema/budget.sql.ts";
import { isEmpty } from "../values/changed-fields.ts";
import { Id, lazyObject, objectCheck, valueError } from "../values/wire.ts";
import { BudgetLimit, BudgetReserve } from "./budget.ts";

const MAX_ZONE = 50;

const isZone = (name: string): boolean => {
  try {
    return new Intl.DateTimeFormat("en", { timeZone: name }).resolvedOptions().timeZone !== "" && !/^[+-]/.test(name);
  } catch {
    return false;
  }
};

const Timezone = z
  .string()
  .trim()
  .max(MAX_ZONE, { abort: true })
  .refine(isZone, valueError("timezone must be an IANA name, such as Europe/Berlin"))
  .describe("IANA name of the zone in which days and months begin.");

const WarnAt = z.number().min(0.01).max(1).describe("The share of a limit at which it warns.");

const fields = {
  period: z.enum(BUDGET_PERIODS).describe("The time after which spending starts from zero again; `total` means never."),
  on_limit: z.enum(ON_LIMIT).describe("`stop` ends runs at the limit and gives out no task; `warn` only announces it."),
};

export const BudgetQuery = lazyObject(() => ({
  ...pageQuery().shape,
  scope: z.enum(BUDGET_SCOPES).optional().describe("Only budgets of this scope."),
  scope_id: Id.optional().describe("Only budgets of this organization, board, agent or task."),
}));

export const CreateBudget = lazyObject(() => ({
  scope: z.enum(BUDGET_SCOPES).describe("What the budget is for."),
  scope_id: Id.optional().describe("Id of the board, agent or task. For the organization it may be absent."),
  period: fields.period.default("month"),
  timezone: Timezone.default("UTC"),
  limit: BudgetLimit.describe("What may be spent in a period: at least one limit."),
  reserve: BudgetReserve.default({}).describe(
    "What is set aside for each running run, so that several cannot overspend together.",
  ),
  warn_at: WarnAt.default(0.8),
  on_limit: fields.on_limit.default("stop"),
}))
  .check(
    objectCheck(({ scope, scope_id, limit }, fail) => {
      if (["board", "agent", "task"].includes(scope) && scope_id === undefined) fail("scope_id");
      if (typeof limit === "object" && !hasLimit(limit)) fail("limit", "a budget needs a limit");
    }),
  )
  .meta({ id: "BudgetCreate" });
export type CreateBudget = z.infer<typeof CreateBudget>;

export const UpdateBudget = lazyObject(() => ({
  period: fields.period.optional(),
  timezone: Timezone.optional(),
  limit: BudgetLimit.optional().describe("The limits to change; null removes one, and one has to remain."),
  reserve: BudgetReserve.optional().describe("The reserves to change; null removes one."),
  warn_at: WarnAt.optional(),
  on_limit: fields.on_limit.optional(),
}))
  .refine((sent) => !isEmpty(sent), valueError("At least one field is required"))
  .meta({ id: "BudgetUpdate" });
export type UpdateBudget = z.infer<typeof UpdateBudget>;

/** Checks whether at least one of the limits is set. */
export const hasLimit = (limit: z.infer<typeof BudgetLimit>): boolean =>
  Object.values(limit ?? {}).some((value) => value !== null && value !== undefined);
