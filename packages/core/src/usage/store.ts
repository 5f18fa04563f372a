import { type SQL, sql } from "drizzle-orm";
import type { Agent } from "../context/actor.ts";
import type { Context } from "../context/context.ts";
import { actingValue, preparedActingAs } from "../db/change-actor.ts";
import { rowsOf } from "../db/database.ts";
import { preparedQuery } from "../db/prepared.ts";
import { addToRuns } from "../run/add-usage.ts";
import { usage_counts, usage_entries, usage_models, usage_tasks } from "../schema/usage.sql.ts";
import { addToTasks } from "../task/add-usage.ts";
import type { Place } from "./place.ts";
import type { UsageEntry } from "./entry.ts";

/**
 * The maximum number of different model names, because clients may send any name. The usage of further models is counted as
 * `other`.
 */
const MAX_MODELS = 100;

/** An entry with the place where it is counted. */
export type PlacedEntry = Omit<UsageEntry, "at"> & Place & { at: Date };

/** The sums of the newly stored entries of one board, task and run. */
export interface StoredUsage {
  board_id: string | null;
  task_id: string | null;
  run_id: string | null;
  entries: number;
  total_tokens: number;
  cost_usd: string | null;
}

/**
 * Stores the entries whose keys are new and adds them to all sums, with one statement. Concurrent statements with the same key wait
 * for each other, so the key is counted only once.
 */
export async function storeEntries(ctx: Context<Agent>, entries: readonly PlacedEntry[]): Promise<StoredUsage[]> {
  const { agent_id, name, organization_id } = ctx.actor;
  const result = await storing(ctx.db).execute({
    agent_id,
    agent_name: name,
    organization_id,
    now: ctx.now().toISOString(),
    entries: JSON.stringify(entries.map((entry, position) => ({ ...entry, position }))),
    ...actingValue(ctx),
  });
  return rowsOf<StoredUsage>(result).map((row) => ({ ...row, total_tokens: Number(row.total_tokens) }));
}

const AMOUNTS = ["input_tokens", "output_tokens", "cached_input_tokens", "reasoning_tokens"];
const amounts = sql.raw([...AMOUNTS, "cost_usd"].join(", "));
const sums = sql.raw([...AMOUNTS.map((name) => `sum(${name})::bigint`), "sum(cost_usd)"].join(", "));
const added: SQL = sql.raw(
  ["entries", "runs", ...AMOUNTS].map((name) => `${name} = counts.${name} + excluded.${name}`).join(", "),
);

const storing = preparedQuery(() => {
  const organization_id = sql`${sql.placeholder("organization_id")}::uuid`;
  const agent_id = sql`${sql.placeholder("agent_id")}::uuid`;
  const now = sql`${sql.placeholder("now")}::timestamptz`;
  return sql`
    with given as materialized (
      select * from jsonb_to_recordset(${sql.placeholder("entries")}::jsonb) as entry(position int, key text, at timestamptz,
        model text, input_tokens bigint, output_tokens bigint, cached_input_tokens bigint, reasoning_tokens bigint,
        cost_usd numeric, board_id uuid, board_name text, task_id uuid, task_title text, run_id uuid)
      where ${preparedActingAs}
    ), known as (
      select model from ${usage_models} where organization_id = ${organization_id}
    ), added_models as (
      insert into ${usage_models} (organization_id, model)
      select ${organization_id}, model from (select distinct model from given where model is not null except select model from known)
      order by model limit greatest(0, ${sql.raw(String(MAX_MODELS))} - (select count(*) from known))
      on conflict (organization_id, model) do update set model = excluded.model returning model
    ), stored as (
      insert into ${usage_entries} (agent_id, key, organization_id, board_id, task_id, run_id, at, model, ${amounts}, stored_at)
      select ${agent_id}, key, ${organization_id}, board_id, task_id, run_id, at, model, ${amounts},
        ${now}
      from given order by position
      on conflict (agent_id, key) do nothing returning key
    ), used as materialized (
      select given.*, case when model is null then ''
        when model in (select model from known union all select model from added_models) then model else 'other' end as counted_model
      from given join stored using (key)
    ), added_to_tasks as (${addToTasks(sql`used`)}
    ), run as (${addToRuns(sql`used`, sql`added_to_tasks`, now)}
    ), counted as (
      insert into ${usage_counts} as counts (organization_id, dimension, span, start, board_id, agent_id, task_id, model, is_idle,
        name, entries, runs, ${amounts})
      select ${organization_id}, part.dimension, part.span,
        date_trunc(part.span, at at time zone 'UTC')::date, coalesce(board_id, ${NONE}),
        case part.dimension when 'agent' then ${agent_id} else ${NONE} end,
        case part.dimension when 'task' then task_id else ${NONE} end,
        case part.dimension when 'agent' then counted_model else '' end, task_id is null,
        max(case part.dimension when 'agent' then ${sql.placeholder("agent_name")} when 'task' then task_title
          else coalesce(board_name, '') end),
        count(*), count(*) filter (where position = (
          select min(first.position) from used as first join run on run.id = first.run_id and run.is_first
          where first.run_id = used.run_id)), ${sums}
      from used cross join (values ('board', 'day'), ('board', 'month'), ('agent', 'day'), ('agent', 'month'), ('task', 'day'),
        ('task', 'month')) as part(dimension, span)
      where part.dimension <> 'task' or task_id is not null
      group by 1, 2, 3, 4, 5, 6, 7, 8, 9 order by 1, 2, 3, 4, 5, 6, 7, 8, 9
      on conflict (organization_id, dimension, span, start, board_id, agent_id, task_id, model, is_idle)
      do update set name = excluded.name, ${added},
        cost_usd = case when excluded.cost_usd is null then counts.cost_usd else coalesce(counts.cost_usd, 0) + excluded.cost_usd end
    ), summed as (
      insert into ${usage_tasks} as sums (organization_id, task_id, board_id, first_day, last_day, total_tokens, cost_usd)
      select ${organization_id}, task_id, board_id, min(day), max(day), sum(input_tokens + output_tokens)::bigint, sum(cost_usd)
      from used cross join lateral (select (at at time zone 'UTC')::date as day) as utc
      where task_id is not null group by task_id, board_id order by task_id
      on conflict (organization_id, task_id) do update set
        first_day = least(sums.first_day, excluded.first_day), last_day = greatest(sums.last_day, excluded.last_day),
        total_tokens = sums.total_tokens + excluded.total_tokens,
        cost_usd = case when excluded.cost_usd is null then sums.cost_usd else coalesce(sums.cost_usd, 0) + excluded.cost_usd end
    )
    select board_id, task_id, run_id, count(*)::int as entries, sum(input_tokens + output_tokens)::text as total_tokens,
      trim_scale(sum(cost_usd))::text as cost_usd
    from used group by board_id, task_id, run_id`;
});

const NONE = sql`'00000000-0000-0000-0000-000000000000'::uuid`;
