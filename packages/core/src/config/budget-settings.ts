import { type BudgetName, BUDGETS, budgetNames, type Budgets } from "./budgets.ts";
import { wholeNumber } from "./setting-types.ts";

type BudgetSchemas = { [Name in BudgetName as Uppercase<Name>]: ReturnType<typeof wholeNumber> };

function schemaOf(name: BudgetName) {
  const budget = BUDGETS[name];
  const min = "min" in budget ? budget.min : 0;
  return wholeNumber(budget.default, budget.max, min).describe(budget.describe);
}

/** The schemas of the given budgets. To start faster, a process creates only the schemas of budgets that are set. */
export const budgetSettings = (names: readonly BudgetName[]) =>
  Object.fromEntries(names.map((name) => [name.toUpperCase(), schemaOf(name)])) as BudgetSchemas;

export function toBudgets(env: { [Name in Uppercase<BudgetName>]: number | undefined }, edge: "local" | "lambda"): Budgets {
  const defaultOf = (budget: (typeof BUDGETS)[BudgetName]) =>
    edge === "lambda" && "default_in_functions" in budget ? budget.default_in_functions : budget.default;
  return Object.fromEntries(
    budgetNames.map((name) => [name, env[name.toUpperCase() as Uppercase<BudgetName>] ?? defaultOf(BUDGETS[name])]),
  ) as Budgets;
}
