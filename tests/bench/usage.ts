import { rowsOf } from "@board/core/db/database";
import type { Db } from "@board/core/context/db";
import { agents, boards, tasks, usage_counts, usage_entries, usage_models, usage_tasks } from "@board/core/schema/all-tables";
import { GROUPINGS, type Grouping } from "@board/core/usage/figures";
import { type SQL, sql } from "drizzle-orm";
import { type BenchEnvironment, CONNECTIONS } from "./environment.ts";
import { measureServerTime } from "./growth/processor-time.ts";
import { load } from "./load.ts";
import { rate, round, type Row } from "./row.ts";
import { addRuns } from "./steps.ts";

const ENTRIES = 1_000_000;
const BOARDS = 20;
const AGENTS = 200;
const MODELS = 10;
/** With this many tasks, each task has twenty usage entries, as if its agent had called a model twenty times. */
const TASKS = 50_000;
/** How many requests are sent over one connection, one after the other. */
const ALONE = 60;
const REQUESTS = 2_000;
const WARM_UP = 300;
/** How many runs of agents are left for measuring the floor and for counting statements. */
const SPARE = 100;

/** Measures how the usage of agents is counted, and the page that shows a year with a million entries. */
export async function benchUsage(place: BenchEnvironment): Promise<Row[]> {
  await fill(place);
  const rows = [...(await benchReports(place)), ...(await benchPage(place))];
  await clear(place.db);
  return rows;
}

/** Measures how usage is counted, from a step of a run and from an entry, in tables with a million entries. */
async function benchReports(place: BenchEnvironment): Promise<Row[]> {
  const { service, db, board, lead, count, compareToBaseline, compareToFloor } = place;
  const run_ids = await addRuns(place, WARM_UP + REQUESTS + SPARE);
  const headers = { "x-agent-token": lead.auth_token, "content-type": "application/json" };
  const amounts = { model: "model-1", input_tokens: 5_200, output_tokens: 640, cached_input_tokens: 4_000, cost_usd: "0.0312" };
  const measure = async (what: string, toRequest: (run_id: string) => { path: string; body: string }): Promise<Row> => {
    const send = (ids: readonly string[]) =>
      load({
        url: service.url,
        method: "POST",
        connections: CONNECTIONS,
        requests: ids.length,
        nth: (n) => ({ ...toRequest(ids[n]!), headers }),
      });
    await send(run_ids.slice(0, WARM_UP));
    const figures = await send(run_ids.slice(WARM_UP, WARM_UP + REQUESTS));
    const spare = run_ids.slice(WARM_UP + REQUESTS);
    const one = () => {
      const { path, body } = toRequest(spare.pop()!);
      return fetch(service.url + path, { method: "POST", headers, body });
    };
    const floor = await compareToFloor(figures, one);
    return { what, figure: rate(figures), target: "", ...compareToBaseline(figures), ...floor, statements: await count(one) };
  };
  const size = await measureSize(db);
  const rows = [
    await measure("an entry of usage, of a run", (run_id) => ({
      path: "/api/v1/agent/usage",
      body: JSON.stringify({ entries: [{ key: crypto.randomUUID(), run_id, ...amounts }] }),
    })),
    await measure("a step with usage", (run_id) => ({
      path: `/api/v1/agent/runs/${run_id}/steps`,
      body: JSON.stringify({ from: 0, steps: [{ kind: "usage", ...amounts }] }),
    })),
  ];
  await db.delete(tasks).where(sql`${tasks.board_id} = ${board.id}`);
  return [...rows, size];
}

/** Measures the disk space that entries and their sums take. */
async function measureSize(db: Db): Promise<Row> {
  const found = await db.execute(
    sql`select pg_total_relation_size('usage_entries')::float8 as entries, pg_total_relation_size('usage_counts')::float8 + pg_total_relation_size('usage_tasks') as counts`,
  );
  const { entries, counts } = rowsOf<{ entries: number; counts: number }>(found)[0]!;
  const perThousand = (bytes: number) => `${round((bytes * 1_000) / ENTRIES / 1_024)} KB`;
  return {
    what: "storage of 1,000 entries for a week, and of their sums for 400 days, tables and indexes included",
    figure: `${perThousand(entries)} and ${perThousand(counts)}`,
    target: "",
    baseline: `the entries for 400 days: ${perThousand(entries)}`,
    ratio: `${(entries / counts).toFixed(1)}x`,
    statements: "",
  };
}

/** Measures the usage page for a year in each grouping, compared with plain sums of the entries. */
async function benchPage(place: BenchEnvironment): Promise<Row[]> {
  const { db, service, authorization, count, compareToFloor } = place;
  const rows: Row[] = [];
  for (const grouping of GROUPINGS) {
    const url = `${service.url}/api/v1/metrics/usage?range=1y&group_by=${grouping}`;
    const ask = (connections: number, requests: number) => load({ url, headers: { authorization }, connections, requests });
    await ask(CONNECTIONS, 40);
    const { result: alone, database_ms } = await measureServerTime(db, () => ask(1, ALONE));
    const together = await ask(CONNECTIONS, 400);
    const request = () => fetch(url, { headers: { authorization } });
    const floor = await compareToFloor(together, request);
    const statements = await count(request);
    const plain_ms = await sumEntries(db, grouping);
    rows.push({
      what: `usage of a year by ${grouping}, ${ENTRIES.toLocaleString("en")} entries, ${TASKS.toLocaleString("en")} tasks`,
      figure: `${rate(together)}; alone p50 ${round(alone.p50_ms)} ms, of which PostgreSQL ${round(database_ms / ALONE)} ms`,
      target: "PostgreSQL 30 ms",
      baseline: `plain SQL of the entries ${round(plain_ms)} ms`,
      ratio: `${round(plain_ms / alone.p50_ms)}x`,
      ...floor,
      statements,
    });
  }
  return rows;
}

const PLAIN_KEYS: Record<Grouping, SQL> = {
  day: sql`date_trunc('day', at at time zone 'UTC')`,
  agent: sql`agent_id`,
  board: sql`board_id`,
  model: sql`model`,
  task: sql`task_id`,
};

/** Returns the milliseconds that a page would take without stored sums. */
async function sumEntries(db: Db, grouping: Grouping): Promise<number> {
  const start = performance.now();
  await db.execute(sql`
    select ${PLAIN_KEYS[grouping]}, task_id is null, count(*), count(distinct run_id), sum(input_tokens), sum(output_tokens),
      sum(cached_input_tokens), sum(reasoning_tokens), sum(cost_usd) as cost
    from ${usage_entries} where at >= now() - interval '1 year' group by 1, 2 order by cost desc nulls last limit 500`);
  return performance.now() - start;
}

const benchBoards = sql`(select id from ${boards} where slug like 'usage-%')`;
const NONE = sql`'00000000-0000-0000-0000-000000000000'::uuid`;

/**
 * Adds the entries of a year and their sums. One agent with two models works on each task for two days. A twentieth of the entries
 * belongs to no task, which counts as idle usage.
 */
async function fill({ db, gateway }: BenchEnvironment): Promise<void> {
  await db.execute(sql`insert into ${boards} (organization_id, gateway_id, name, slug, description)
    select gateway.organization_id, gateway.id, 'Usage ' || n, 'usage-' || n, 'Bench'
    from gateways as gateway, generate_series(1, ${BOARDS}::int) as n where gateway.id = ${gateway.id}`);
  await db.execute(sql`insert into ${agents} (board_id, gateway_id, name)
    select id, gateway_id, 'User ' || n from ${boards}, generate_series(1, ${AGENTS / BOARDS}::int) as n where id in ${benchBoards}`);
  await db.execute(sql`insert into ${usage_models} (organization_id, model)
    select organization_id, 'model-' || n from gateways, generate_series(1, ${MODELS}::int) as n where id = ${gateway.id}`);
  await db.execute(sql`
    with worker as materialized (
      select agent.id, agent.board_id, row_number() over () - 1 as number
      from ${agents} as agent where board_id in ${benchBoards}
    ), task as (
      insert into ${tasks} (board_id, title, status, created_at, assigned_agent_id)
      select board_id, 'Task ' || n, 'done', now() - n * interval '365 days' / ${TASKS}::int, id
      from generate_series(1, ${TASKS}::int) as n join worker on worker.number = n % ${AGENTS}::int
      returning id, board_id, assigned_agent_id, created_at
    )
    insert into ${usage_entries} (agent_id, key, organization_id, board_id, task_id, run_id, at, model, input_tokens, output_tokens,
      cached_input_tokens, reasoning_tokens, cost_usd, stored_at)
    select task.assigned_agent_id, 'turn ' || task.id || n, gateway.organization_id, task.board_id,
      case when n % 20 > 0 then task.id end, case when n % 20 > 0 then task.id end,
      least(now(), task.created_at + random() * interval '2 days') as at,
      'model-' || 1 + (hashtext(task.assigned_agent_id::text) & 1023) % ${MODELS / 2}::int * 2 + n % 2,
      (random() * 20000)::int, (random() * 2000)::int, (random() * 10000)::int, (random() * 500)::int,
      round((random() * random() / 4)::numeric, 6), now()
    from task, generate_series(1, ${ENTRIES / TASKS}::int) as n, gateways as gateway where gateway.id = ${gateway.id} order by at`);
  await db.execute(sql`
    insert into ${usage_counts} (organization_id, dimension, span, start, board_id, agent_id, task_id, model, is_idle, name, entries,
      runs, input_tokens, output_tokens, cached_input_tokens, reasoning_tokens, cost_usd)
    select organization_id, part.dimension, part.span, date_trunc(part.span, at at time zone 'UTC')::date, board_id,
      case part.dimension when 'agent' then agent_id else ${NONE} end,
      case part.dimension when 'task' then task_id else ${NONE} end,
      case part.dimension when 'agent' then model else '' end, task_id is null, 'Name', count(*), count(distinct run_id),
      sum(input_tokens), sum(output_tokens), sum(cached_input_tokens), sum(reasoning_tokens), sum(cost_usd)
    from ${usage_entries} cross join (values ('board', 'day'), ('board', 'month'), ('agent', 'day'), ('agent', 'month'),
      ('task', 'day'), ('task', 'month')) as part(dimension, span)
    where board_id in ${benchBoards} and (part.dimension <> 'task' or task_id is not null)
    group by 1, 2, 3, 4, 5, 6, 7, 8, 9 order by 4`);
  await db.execute(sql`
    insert into ${usage_tasks} (organization_id, task_id, board_id, first_day, last_day, total_tokens, cost_usd)
    select organization_id, task_id, board_id, min(start), max(start), sum(input_tokens + output_tokens), sum(cost_usd)
    from ${usage_counts} where dimension = 'task' and span = 'day' group by 1, 2, 3`);
  await db.execute(sql`vacuum analyze ${usage_entries}, ${usage_counts}, ${usage_tasks}, ${tasks}, ${agents}`);
}

async function clear(db: Db): Promise<void> {
  await db.delete(usage_entries);
  await db.delete(usage_counts);
  await db.delete(usage_tasks);
  await db.delete(usage_models);
  await db.delete(boards).where(sql`${boards.id} in ${benchBoards}`);
}
