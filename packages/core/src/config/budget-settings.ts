import { type BudgetName, BUDGETS, budgetNames, type Budgets, limitNames, type OwnSetting, ownSettings } from "./budgets.ts";
import { commaSeparated, isWholeNumber, wholeNumber } from "./setting-types.ts";

type BudgetSchemas = { [Name in OwnSetting as Uppercase<Name>]: ReturnType<typeof wholeNumber> };

function minOf(name: BudgetName): number {
  const budget = BUDGETS[name];
  return "min" in budget ? budget.min : 0;
}

const limits = commaSeparated
  .transform((parts, ctx): Partial<Budgets> => {
    const fail = (message: string) => void ctx.issues.push({ code: "custom", message, input: undefined });
    const entries = parts.map((part) => {
      const [given, text = "", ...rest] = part.split("=").map((side) => side.trim());
      const name = limitNames.find((limit) => limit === given);
      if (!name || rest.length > 0) fail("must be a list such as running_requests=64, with names from docs/settings.md#limits");
      else if (!isWholeNumber(text, minOf(name), BUDGETS[name].max))
        fail(`must give ${name} a whole number from ${minOf(name)} to ${BUDGETS[name].max}`);
      return [name, Number(text)];
    });
    return Object.fromEntries(entries) as Partial<Budgets>;
  })
  .meta({ rule: "list of name=number, comma-separated" });

export const budgetSettings = () => ({
  ...(Object.fromEntries(
    ownSettings.map((name) => {
      const { default: fallback, max, describe } = BUDGETS[name];
      return [name.toUpperCase(), wholeNumber(fallback, max).describe(describe)];
    }),
  ) as BudgetSchemas),
  LIMITS: limits.describe("Limits that differ from their defaults, such as `running_requests=64,max_connections=500` (below)."),
});

type Parsed = { [Name in Uppercase<OwnSetting>]: number } & { LIMITS: Partial<Budgets> };

/**
 * Reads the budgets from the environment. `isSet` tells whether a variable is set, because some defaults are different in Lambda
 * functions.
 */
export function toBudgets(env: Parsed, isSet: (variable: string) => boolean, edge: "local" | "lambda"): Budgets {
  const valueOf = (name: BudgetName) => {
    const variable = name.toUpperCase() as Uppercase<OwnSetting>;
    if (isSet(variable) && variable in env) return env[variable];
    const budget = BUDGETS[name];
    const fallback = edge === "lambda" && "default_in_functions" in budget ? budget.default_in_functions : budget.default;
    return env.LIMITS[name] ?? fallback;
  };
  return Object.fromEntries(budgetNames.map((name) => [name, valueOf(name)])) as Budgets;
}
