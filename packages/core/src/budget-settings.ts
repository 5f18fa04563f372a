import type * as z from "zod";
import { type BudgetName, BUDGETS, budgetNames, type Budgets } from "./budgets.ts";
import { wholeNumber } from "./setting-types.ts";

type BudgetSchemas = { [Name in BudgetName as Uppercase<Name>]: ReturnType<typeof wholeNumber> };

function schemaOf(name: BudgetName) {
  const budget = BUDGETS[name];
  const min = "min" in budget ? budget.min : 0;
  return wholeNumber(budget.default, budget.max, min).describe(budget.describe);
}

/** The settings of all budgets. */
export const budgetSettings = Object.fromEntries(
  budgetNames.map((name) => [name.toUpperCase(), schemaOf(name)]),
) as BudgetSchemas;

export const toBudgets = (env: { [Name in keyof BudgetSchemas]: z.output<BudgetSchemas[Name]> }): Budgets =>
  Object.fromEntries(budgetNames.map((name) => [name, env[name.toUpperCase() as Uppercase<BudgetName>]])) as Budgets;
