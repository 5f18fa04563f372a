import { budget_spending, budgets, organizations, usage_counts, usage_models, usage_tasks } from "@board/core/schema/all-tables";
import { USAGE_DIMENSIONS } from "@board/core/schema/usage.sql";
import { addMs, DAY_MS } from "@board/core/values/time";
import { sql } from "drizzle-orm";
import type { World } from "../../support/world.ts";
import type { Ids } from "./seed-tenant.ts";

/** A model that only the other organization uses. */
export const FOREIGN_MODEL = "model-of-theirs";
/** The maximum number of budgets in one organization. */
const MAX_BUDGETS = 10_000;
/** Today, the last day before the shortest range, a day within the longer ranges, and the first day of the longest range. */
const DAYS_AGO = [0, 2, 20, 365];
const MONTHS_AGO = [0, 1, 3];

const toDate = (time: Date): string => time.toISOString().slice(0, 10);

/**
 * Stores sums of usage of each board and its agent and task, and inconsistent sums of the same boards in an organization without
 * callers. Each owner's amounts change different digits of a sum. It also adds a budget of the whole other organization.
 */
export async function seedUsage(world: World, boards: readonly Ids[], theirs: Ids): Promise<void> {
  const { db } = world;
  const full_id = await addOrganizationFullOfBudgets(world);
  const now = world.now();
  const days = DAYS_AGO.map((count) => ({ span: "day" as const, start: toDate(addMs(now, -count * DAY_MS)) }));
  const months = MONTHS_AGO.map((count) => ({
    span: "month" as const,
    start: toDate(new Date(Date.UTC(now.getUTCFullYear(), now.getUTCMonth() - count))),
  }));
  const owners: Ids[] = [...boards, ...boards.map((board) => ({ ...board, organization_id: full_id }))];
  const rows = owners.flatMap(({ organization_id, board_id, agent_id, task_id }, index) =>
    USAGE_DIMENSIONS.flatMap((dimension) =>
      [...days, ...months].map((period) => ({
        organization_id: organization_id!,
        board_id: board_id!,
        dimension,
        ...period,
        ...(dimension === "agent" ? { agent_id: agent_id!, model: `model-${index}` } : {}),
        ...(dimension === "task" ? { task_id: task_id! } : {}),
        ...amountsOf(100 ** (index + 1)),
      })),
    ),
  );
  await db.insert(usage_counts).values(rows);
  const [first_day, last_day] = [days.at(-1)!.start, days[0]!.start];
  const sums = owners.map(({ organization_id, board_id, task_id }, index) => ({
    organization_id: organization_id!,
    board_id: board_id!,
    task_id: task_id!,
    // Half of the tasks began on the first day of the longest range, the others on the last day before the shortest range.
    first_day: index % 2 === 0 ? first_day : days[1]!.start,
    last_day,
    total_tokens: 100 ** (index + 2),
  }));
  await db.insert(usage_tasks).values(sums);
  await db.insert(usage_models).values({ organization_id: theirs.organization_id!, model: FOREIGN_MODEL });
  await addForeignBudget(world, theirs);
}

const amountsOf = (input_tokens: number) => ({
  is_idle: false,
  name: "",
  entries: 1,
  runs: 0,
  input_tokens,
  output_tokens: 0,
  cached_input_tokens: 0,
  reasoning_tokens: 0,
});

const BUDGET = { timezone: "UTC", limit_runs: 1_000_000, warn_at: 0.8, on_limit: "stop" } as const;

async function addForeignBudget({ db }: World, { organization_id }: Ids): Promise<void> {
  const [budget] = await db
    .insert(budgets)
    .values({ ...BUDGET, organization_id: organization_id!, scope: "organization", period: "total" })
    .returning();
  await db.insert(budget_spending).values({ budget_id: budget!.id });
}

/** Adds an organization that can have no further budget. Returns its id. */
async function addOrganizationFullOfBudgets({ db }: World): Promise<string> {
  const [full] = await db.insert(organizations).values({ name: "Full of budgets" }).returning();
  await db.execute(sql`
    insert into ${budgets} (organization_id, scope, period, timezone, limit_runs, warn_at, on_limit)
    select ${full!.id}, 'organization', 'total', 'UTC', 1000000, 0.8, 'stop' from generate_series(1, ${MAX_BUDGETS})`);
  return full!.id;
}
