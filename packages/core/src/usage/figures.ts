import { type SQL, sql } from "drizzle-orm";
import type { Context } from "../context/context.ts";
import { rowsOf } from "../db/database.ts";
import { preparedQuery } from "../db/prepared.ts";
import { agents } from "../schema/agent.sql.ts";
import { boards } from "../schema/board.sql.ts";
import { gateways } from "../schema/gateway.sql.ts";
import { tasks } from "../schema/task.sql.ts";
import { usage_counts, usage_tasks } from "../schema/usage.sql.ts";

export const GROUPINGS = ["day", "agent", "board", "model", "task"] as const;
export type Grouping = (typeof GROUPINGS)[number];

const STORED = ["entries", "runs", "input_tokens", "output_tokens", "cached_input_tokens", "reasoning_tokens"] as const;

/** The sums of a group of entries, as the statement returns them. Usage without a task has separate sums. */
export type Figures = Record<(typeof STORED)[number] | "total_tokens", number> & { cost_usd: string | null };
export interface FigureRow {
  key: string;
  name: string | null;
  /** The number of all groups. Only a limited number of them is returned. */
  groups: number;
  work: Figures;
  idle: Figures;
}

export interface Window {
  organization_id: string;
  /** Null means the whole organization, including removed boards and the main agents of gateways. */
  board_ids: readonly string[] | null;
  /** The first day, as a date. */
  from: string;
  /** The first month that is completely within the window. From this month on, the sums of months are read instead of days. */
  month: string;
}

export async function readFigures(ctx: Context, window: Window, grouping: Grouping, limit: number): Promise<FigureRow[]> {
  const values = { ...window, board_ids: window.board_ids ?? [], limit };
  return rowsOf<FigureRow>(await selectFigures(ctx.db, grouping, window.board_ids !== null).execute(values));
}

/** Returns the sums of all entries in the window. */
export async function readTotals(ctx: Context, window: Window): Promise<Pick<FigureRow, "work" | "idle">> {
  const values = { ...window, board_ids: window.board_ids ?? [] };
  return rowsOf<FigureRow>(await selectTotals(ctx.db, window.board_ids !== null).execute(values))[0]!;
}

const DIMENSIONS = { day: "board", board: "board", agent: "agent", model: "agent", task: "task" } as const;

/**
 * Selects the parts of the window: whole months and the days before them, or only days. The planner does not see the values, so it
 * plans for few rows and starts no parallel workers, whose start would take longer than the query.
 */
const partsOf = (by_day: boolean): SQL => {
  const [from, month] = [sql`${sql.placeholder("from")}::date`, sql`${sql.placeholder("month")}::date`];
  const parts = by_day
    ? sql`('day', ${from}, 'infinity'::date)`
    : sql`('day', ${from}, ${month}), ('month', ${month}, 'infinity')`;
  return sql`part as materialized (select * from (values ${parts}) as part(span, first, until))`;
};

/**
 * Selects the rows of a dimension in the parts of the window. With `named`, it selects only rows of the given boards. `only` is a
 * further condition.
 */
const countsOf = (dimension: "board" | "agent" | "task", named: boolean, only = sql`true`): SQL => sql`
  select counts.* from part cross join lateral (
    select * from ${usage_counts} where organization_id = ${sql.placeholder("organization_id")}::uuid
      and dimension = ${sql.raw(`'${dimension}'`)} and span = part.span and start >= part.first and start < part.until
      and ${named ? sql`board_id = any(${sql.placeholder("board_ids")}::uuid[])` : sql`true`} and ${only} offset 0) as counts`;

/** Returns columns with the sums of a group's rows. Their names have the prefix `work_` or `idle_`. */
const sumsOf = (kind: "work" | "idle"): SQL => {
  const when = kind === "idle" ? "filter (where is_idle)" : "filter (where not is_idle)";
  const parts = STORED.map((name) => `coalesce(sum(${name}) ${when}, 0) as ${kind}_${name}`);
  return sql.raw([...parts, `sum(cost_usd) ${when} as ${kind}_cost_usd`].join(", "));
};

/** Returns the sums as a JSON object. It is built only for the rows that are returned. */
const toObject = (kind: "work" | "idle"): SQL => {
  const total = `'total_tokens', ${kind}_input_tokens + ${kind}_output_tokens`;
  const parts = STORED.map((name) => `'${name}', ${kind}_${name}`);
  return sql.raw(
    `json_build_object(${[...parts, total, `'cost_usd', trim_scale(${kind}_cost_usd)::text`].join(", ")}) as ${kind}`,
  );
};

const KEYS: Record<Grouping, SQL> = {
  day: sql.raw("start::text"),
  board: sql.raw("board_id::text"),
  agent: sql.raw("agent_id::text"),
  model: sql.raw("model"),
  task: sql.raw("counts.task_id::text"),
};

/** Returns the current name of a group. If there is none, for example after a removal, returns a stored name. */
const nameOf = (grouping: Grouping): SQL => {
  if (grouping === "day") return sql`null::text`;
  if (grouping === "model") return sql`nullif(key, '')`;
  const present = {
    board: sql`select ${boards.name} from ${boards} where ${boards.id} = key::uuid`,
    agent: sql`select ${agents.name} from ${agents} where ${agents.id} = key::uuid`,
    task: sql`select ${tasks.title} from ${tasks} where ${tasks.id} = key::uuid`,
  }[grouping];
  return sql`coalesce((${present}), nullif(stored_name, ''))`;
};

/** Selects agents that have no usage in the window, with empty sums. */
const silentAgents = (named: boolean) => sql`
  union all
  select agent.id::text, agent.name, null, 0, ${NO_SUMS}, ${NO_SUMS}
  from ${agents} as agent join ${gateways} as gateway on gateway.id = agent.gateway_id
  where gateway.organization_id = ${sql.placeholder("organization_id")}::uuid
    and ${named ? sql`agent.board_id = any(${sql.placeholder("board_ids")}::uuid[])` : sql`true`}
    and not exists (select 1 from summed where summed.key = agent.id::text)`;

const NO_SUMS = sql.raw([...STORED.map(() => "0"), "null"].join(", "));

/**
 * Selects the tasks to show. A task whose days are all in the window is ranked by its stored sum. For a task with earlier days,
 * the days in the window are added up, but only if the stored sum could bring the task into the list. The stored sum is at least
 * as high.
 */
const rankedTasks = (named: boolean) => sql`
  inside as materialized (
    select task_id, cost_usd as cost, total_tokens::numeric as tokens from ${usage_tasks}
    where ${tasksOf(named)} and first_day >= ${sql.placeholder("from")}::date
    order by cost_usd desc nulls last, total_tokens desc nulls last, task_id limit ${sql.placeholder("limit")}::int
  ), bound as materialized (
    select case when count(cost) = ${sql.placeholder("limit")}::int then min(cost) end as cost from inside
  ), ranked as materialized (
    select task_id from (
      select * from inside
      union all
      select task.task_id, counted.cost, counted.tokens
      from ${usage_tasks} as task cross join lateral (
        select sum(cost_usd) as cost, sum(input_tokens + output_tokens) as tokens
        from (${countsOf("task", named, sql`task_id = task.task_id`)}) as counts) as counted
      where ${tasksOf(named)} and first_day < ${sql.placeholder("from")}::date and last_day >= ${sql.placeholder("from")}::date
        and ((select cost from bound) is null or cost_usd >= (select cost from bound))
    ) as candidates order by cost desc nulls last, tokens desc, task_id limit ${sql.placeholder("limit")}::int
  ), `;

const tasksOf = (named: boolean): SQL => sql`organization_id = ${sql.placeholder("organization_id")}::uuid
  and ${named ? sql`board_id = any(${sql.placeholder("board_ids")}::uuid[])` : sql`true`}`;

const countTasks = (named: boolean): SQL =>
  sql`(select count(*) from ${usage_tasks} where ${tasksOf(named)} and last_day >= ${sql.placeholder("from")}::date)::int`;

const selectFigures = preparedQuery((_db, grouping: Grouping, named: boolean) => {
  const isByDay = grouping === "day";
  const isByTask = grouping === "task";
  const order = isByDay ? sql`key` : sql`cost desc nulls last, tokens desc, key`;
  const counts = countsOf(DIMENSIONS[grouping], named);
  const ofRanked = countsOf("task", named, sql`task_id = ranked.task_id`);
  const source = isByTask ? sql`ranked cross join lateral (${ofRanked}) as counts` : sql`(${counts}) as counts`;
  return sql`
    with ${partsOf(isByDay)}, ${isByTask ? rankedTasks(named) : sql``} summed as materialized (
      select ${KEYS[grouping]} as key, max(name) as stored_name, sum(cost_usd) as cost,
        sum(input_tokens + output_tokens) as tokens, ${sumsOf("work")}, ${sumsOf("idle")}
      from ${source} group by 1
    ), grouped as (
      select * from summed ${grouping === "agent" ? silentAgents(named) : sql``}
    ), first as materialized (
      select *, ${isByTask ? countTasks(named) : sql`count(*) over ()::int`} as groups
      from grouped order by ${order} limit ${sql.placeholder("limit")}::int
    )
    select key, ${nameOf(grouping)} as name, groups, ${toObject("work")}, ${toObject("idle")} from first order by ${order}`;
});

const selectTotals = preparedQuery(
  (_db, named: boolean) => sql`
    with ${partsOf(false)}
    select ${toObject("work")}, ${toObject("idle")}
    from (select ${sumsOf("work")}, ${sumsOf("idle")} from (${countsOf("board", named)}) as counts) as summed`,
);
