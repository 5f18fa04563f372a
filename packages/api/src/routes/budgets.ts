import { Budget } from "@board/core/budget/budget";
import { BudgetQuery, CreateBudget, UpdateBudget } from "@board/core/budget/input";
import { getBudget, listBudgets, removeBudget } from "@board/core/budget/store";
import { member } from "@board/core/context/actor";
import { pageOf } from "@board/core/lists/page";
import { createBudget, updateBudget } from "@board/core/usage/limit";
import { Ok, ok } from "@board/core/values/wire";
import { endpoint } from "../endpoint.ts";
import { budgetResource } from "./conditional-resources.ts";

const collectionPath = "/api/v1/budgets";
const itemPath = "/api/v1/budgets/{budget_id}";
const access =
  "Members may do so for boards that they may change and for tasks on these, admins also for the organization and for agents.";

/** Budgets: limits on what agents may spend. */
export const budgets = [
  endpoint(
    "GET",
    collectionPath,
    {
      as: member,
      summary: "List budgets",
      description:
        "Newest first. Members see the budgets of boards that they may change and of tasks on these, admins also those of the organization and of agents.",
      query: BudgetQuery,
      returns: pageOf(Budget),
    },
    (ctx, { query }) => listBudgets(ctx, query),
  ),
  endpoint(
    "POST",
    collectionPath,
    {
      as: member,
      summary: "Create a budget",
      description: `Limits what is spent from now on. ${access}`,
      errors: [403, 404, 409],
      body: CreateBudget,
      returns: Budget,
    },
    (ctx, { body }) => createBudget(ctx, body),
  ),
  endpoint("GET", itemPath, { as: member, summary: "Get a budget", errors: [403], returns: Budget }, (ctx, { params }) =>
    getBudget(ctx, params.budget_id),
  ),
  endpoint(
    "PATCH",
    itemPath,
    {
      as: member,
      summary: "Change a budget",
      description:
        "What was already spent still counts. After a limit is raised, agents get work again when they next ask for it. A new period or time zone starts from zero.",
      conditional: budgetResource,
      errors: [403],
      authorize: (ctx, params) => getBudget(ctx, params.budget_id),
      body: UpdateBudget,
      returns: Budget,
    },
    (ctx, { params, body }) => updateBudget(ctx, params.budget_id, body),
  ),
  endpoint(
    "DELETE",
    itemPath,
    { as: member, summary: "Remove a budget", conditional: budgetResource, errors: [403], returns: Ok },
    async (ctx, { params }) => {
      await removeBudget(ctx, params.budget_id);
      return ok;
    },
  ),
];
