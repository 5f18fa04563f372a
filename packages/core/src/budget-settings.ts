import type * as z from "zod";
import { type BudgetName, BUDGETS, budgetNames, type Budgets } from "./budgets.ts";
import { wholeNumber } from "./setting-types.ts";

type BudgetSchemas = { [Name in BudgetName as Uppercase<Name>]: ReturnType<typeof wholeNumber> };

const schemaOf = (name: BudgetName) => wholeNumber(BUDGETS[name].default, BUDGETS[name].max).describe(BUDGETS[name].describe);

/** The settings of all budgets. */
export const budgetSettings = Object.fromEntries(
  budgetNames.map((name) => [name.toUpperCase(), schemaOf(name)]),
) as BudgetSchemas;

export const toBudgets = (env: { [Name in keyof BudgetSchemas]: z.output<BudgetSchemas[Name]> }): Budgets =>
  Object.fromEntries(budgetNames.map((name) => [name, env[name.toUpperCase() as Uppercase<BudgetName>]])) as Budgets;
