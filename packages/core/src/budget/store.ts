import { and, eq, type SQL, sql } from "drizzle-orm";
import type { Agent, Member, User } from "../context/actor.ts";
import { type Context, transaction } from "../context/context.ts";
import { actingAs, actingFor } from "../db/change-actor.ts";
import { isForeignKeyViolation } from "../db/query-error.ts";
import { toTimestamp } from "../db/timestamp.ts";
import { filterBy } from "../lists/filter.ts";
import { newestFirst } from "../lists/keyset.ts";
import { listOf } from "../lists/list.ts";
import type { Page, PageQuery } from "../lists/page.ts";
import { budget_spending, budgets } from "../schema/budget.sql.ts";
import { changedFields, isEmpty } from "../values/changed-fields.ts";
import { DomainError, notFound } from "../values/errors.ts";
import { type Place, requireScope, type Scope, visibleBudgets } from "./access.ts";
import { announceBudgets } from "./announce.ts";
import { type Budget, budgetColumns, type TaskBudget, toBudget } from "./budget.ts";
import { type CreateBudget, hasLimit, type UpdateBudget } from "./input.ts";
import { markReached, type ReachedBudget } from "./reached.ts";
import { auditBudget, recordBudgetEvent } from "./record.ts";

/**
 * The maximum number of budgets of an organization, including the budgets of tasks. Each usage report looks up only the few that
 * apply.
 */
const MAX_BUDGETS = 10_000;

interface BudgetFilter {
  scope?: Scope | undefined;
  scope_id?: string | undefined;
}

const join = { table: budget_spending, on: eq(budget_spending.budget_id, budgets.id) };
const budgetList = listOf({
  name: "budgets",
  table: budgets,
  joins: [join],
  columns: budgetColumns,
  order: newestFirst(budgets),
});

export const listBudgets = (
  ctx: Context<Member>,
  { scope, scope_id, ...query }: PageQuery & BudgetFilter,
): Promise<Page<Budget>> =>
  budgetList.read(ctx, query, {
    owner: ctx.actor.active.organization_id,
    filters: [
      visibleBudgets(ctx),
      filterBy("scope", scope, (value) => eq(budgets.scope, value as Scope)),
      filterBy(
        "scope_id",
        scope_id,
        (id) => sql`coalesce(${budgets.board_id}, ${budgets.agent_id}, ${budgets.task_id}, ${budgets.organization_id}) = ${id}`,
      ),
    ],
    values: { now: ctx.now().toISOString() },
    toItem: (row) => toBudget(row, ctx.now()),
  });

const selectBudget = (ctx: Context, condition: SQL | undefined) =>
  ctx.db
    .select(budgetColumns)
    .from(budgets)
    .innerJoin(budget_spending, join.on)
    .where(condition)
    .prepare("")
    .execute({ now: ctx.now().toISOString() });

const isIn = (organization_id: string, budget_id: string) =>
  and(eq(budgets.id, budget_id), eq(budgets.organization_id, organization_id));

const isOwn = ({ actor }: Context<Member>, budget_id: string) => isIn(actor.active.organization_id, budget_id);

/** Returns a budget that the member may change. Throws `not_found` for any other budget. */
export async function getBudget(ctx: Context<Member>, budget_id: string): Promise<Budget> {
  const [row] = await selectBudget(ctx, isOwn(ctx, budget_id));
  if (!row) throw notFound();
  await requireScope(ctx, row.scope, row.board_id ?? row.agent_id ?? row.task_id ?? row.organization_id);
  return toBudget(row, ctx.now());
}

/** Returns a budget. The caller must have checked the access. */
export async function readBudget(ctx: Context, organization_id: string, budget_id: string): Promise<Budget> {
  const [row] = await selectBudget(ctx, isIn(organization_id, budget_id));
  if (!row) throw notFound();
  return toBudget(row, ctx.now());
}

/** What a caller must still do after a budget was stored: announce what is reached, stop runs, and write the audit log. */
interface StoredBudget {
  budget: Budget;
  reached: ReachedBudget[];
}

type NewBudget = Omit<CreateBudget, "scope_id"> & Place;

/** Stores a budget and its event. A limit of zero is reached at once. */
export async function insertBudget(ctx: Context<User | Agent>, organization_id: string, input: NewBudget): Promise<StoredBudget> {
  const { limit, reserve, ...fields } = input;
  const [room] = await ctx.db
    .select({ total: sql<number>`count(*)`.mapWith(Number) })
    .from(budgets)
    .where(eq(budgets.organization_id, organization_id));
  if (room!.total >= MAX_BUDGETS)
    throw new DomainError("conflict", `An organization can have ${MAX_BUDGETS} budgets. Remove those that are no longer needed.`);
  await requireTimezone(ctx, input.timezone);
  const budget_id = await insertRow(ctx, organization_id, { ...fields, ...limitColumns(limit), ...reserveColumns(reserve) });
  const resets_at = sql`budget_period_end(${input.period}, ${input.timezone}, ${toTimestamp(ctx.now())})`;
  await ctx.db.insert(budget_spending).values({ budget_id, resets_at });
  const budget = await readBudget(ctx, organization_id, budget_id);
  await recordBudgetEvent(ctx, "budget.created", budget);
  return { budget, reached: await markReached(ctx, budget_id) };
}

/** The SQLSTATE of an invalid parameter, such as an unknown time zone. */
const UNKNOWN_ZONE = "22023";

/** Throws if PostgreSQL does not know a time zone that passed the validation, because JavaScript knows more time zones. */
async function requireTimezone(ctx: Context, timezone: string): Promise<void> {
  if (timezone === "UTC") return;
  try {
    await ctx.db.execute(sql`select ${toTimestamp(ctx.now())} at time zone ${timezone}`);
  } catch (error) {
    if ((error as { cause?: { code?: string } }).cause?.code !== UNKNOWN_ZONE) throw error;
    throw new DomainError("invalid", "timezone must be an IANA name, such as Europe/Berlin");
  }
}

type Columns = Omit<typeof budgets.$inferInsert, "organization_id">;

async function insertRow(ctx: Context<User | Agent>, organization_id: string, columns: Columns): Promise<string> {
  try {
    const [row] = await ctx.db
      .insert(budgets)
      .values({ ...columns, organization_id: actingFor(ctx, organization_id) })
      .returning({ id: budgets.id });
    return row!.id;
  } catch (error) {
    if (isForeignKeyViolation(error)) throw notFound();
    throw error;
  }
}

/** Stores the budget of a new task, as the last write of the transaction that creates the task. The task has no run yet. */
export async function insertTaskBudget(
  ctx: Context<User | Agent>,
  organization_id: string,
  task_id: string,
  limit: TaskBudget,
): Promise<void> {
  const { budget, reached } = await insertBudget(ctx, organization_id, {
    scope: "task",
    period: "total",
    timezone: "UTC",
    limit,
    reserve: {},
    warn_at: 0.8,
    on_limit: "stop",
    board_id: null,
    agent_id: null,
    task_id,
  });
  await announceBudgets(ctx, organization_id, reached, []);
  await auditBudget(ctx, "budget.created", { after: budget });
}

const limitColumns = ({ cost_usd, total_tokens, runs }: NonNullable<UpdateBudget["limit"]>) => ({
  limit_cost_usd: cost_usd,
  limit_total_tokens: total_tokens,
  limit_runs: runs,
});
const reserveColumns = ({ cost_usd, total_tokens }: NonNullable<UpdateBudget["reserve"]>) => ({
  reserve_cost_usd: cost_usd,
  reserve_total_tokens: total_tokens,
});

/**
 * Stores a change and its event, in the caller's transaction. A change of the period or time zone begins a new period. Otherwise
 * the amount spent is kept. `before` is null if nothing has changed.
 */
export async function changeBudget(
  ctx: Context<Member>,
  budget_id: string,
  input: UpdateBudget,
): Promise<StoredBudget & { before: Budget | null }> {
  const condition = and(isOwn(ctx, budget_id), actingAs(ctx));
  const [stored] = await ctx.db.select().from(budgets).where(condition).for("no key update");
  if (!stored) throw notFound();
  const before = await getBudget(ctx, budget_id);
  const { limit, reserve, ...fields } = input;
  if (limit && !hasLimit({ ...before.limit, ...limit })) throw new DomainError("invalid", "A budget needs a limit.");
  const sent = { ...fields, ...limitColumns(limit ?? {}), ...reserveColumns(reserve ?? {}) };
  const changes = changedFields(stored, sent, isSameValue);
  if (isEmpty(changes)) return { budget: before, reached: [], before: null };
  if (changes.timezone !== undefined) await requireTimezone(ctx, changes.timezone);
  await ctx.db.update(budgets).set(changes).where(isOwn(ctx, budget_id));
  if ("period" in changes || "timezone" in changes) await beginPeriod(ctx, budget_id);
  const reached = await markReached(ctx, budget_id);
  const budget = await readBudget(ctx, stored.organization_id, budget_id);
  await recordBudgetEvent(ctx, "budget.updated", budget);
  return { budget, reached, before };
}

/**
 * Checks whether two values of a budget are equal. Costs are compared as numbers, because a stored cost keeps the trailing zeros
 * that were sent.
 */
const isSameValue = (value: unknown, other: unknown): boolean =>
  value === other || (typeof value === "string" && typeof other === "string" && value !== "" && Number(value) === Number(other));

const beginPeriod = (ctx: Context, budget_id: string) =>
  ctx.db.execute(sql`
    update ${budget_spending} as spending set cost_usd = 0, total_tokens = 0, runs = 0,
      resets_at = budget_period_end(budget.period, budget.timezone, ${toTimestamp(ctx.now())})
    from ${budgets} as budget where budget.id = spending.budget_id and budget.id = ${budget_id}`);

export function removeBudget(ctx: Context<Member>, budget_id: string): Promise<void> {
  return transaction(ctx, async (ctx) => {
    const budget = await getBudget(ctx, budget_id);
    const [row] = await ctx.db
      .delete(budgets)
      .where(and(isOwn(ctx, budget_id), actingAs(ctx)))
      .returning({ id: budgets.id });
    if (!row) throw notFound();
    await recordBudgetEvent(ctx, "budget.removed", budget);
    await auditBudget(ctx, "budget.removed", { before: budget });
  });
}
