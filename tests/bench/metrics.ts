import { countNewEvents } from "@board/core/activity/counted-events";
import type { System } from "@board/core/context/actor";
import type { Context } from "@board/core/context/context";
import type { Db } from "@board/core/context/db";
import {
  activity_counts,
  activity_day_counts,
  activity_events,
  boards,
  task_counts,
  task_transitions,
  tasks,
  transition_counts,
} from "@board/core/schema/all-tables";
import { countNewTransitions } from "@board/core/metrics/counted-transitions";
import { toEdges, type RangeKey, toTimeline } from "@board/core/metrics/range";
import { type SQL, sql } from "drizzle-orm";
import { type Figures, load } from "./load.ts";
import { CONNECTIONS, type BenchEnvironment } from "./environment.ts";
import { readServerTime } from "./growth/processor-time.ts";
import { rate, round, type Row } from "./row.ts";

/** The total numbers of events and of moves of tasks on all boards in thirty days. */
interface Amount {
  events: number;
  transitions: number;
}

interface MetricsFigures extends Amount {
  range: RangeKey;
  /** The figures of sequential requests. */
  alone: Figures;
  /** The figures of concurrent requests on all connections. */
  together: Figures;
  /** Processor time of PostgreSQL for one of the sequential requests. */
  database_ms: number;
  /** The milliseconds that four plain statements per bucket take to read the dashboard's series. */
  plain_ms: number;
}

const BOARDS = 20;
/** The number of requests that are sent one after the other. */
const ALONE = 60;
/** The default range, a week and a month. */
const RANGES: readonly RangeKey[] = ["24h", "7d", "1m"];
const AMOUNTS: readonly Amount[] = [
  { events: 100_000, transitions: 20_000 },
  { events: 1_000_000, transitions: 200_000 },
];
/** The statuses of each task in order. */
const STEPS = sql`array['inbox', 'in_progress', 'review', 'in_progress', 'review', 'done']`;
const MOVES_OF_A_TASK = 6;
const benchBoards = sql`(select id from ${boards} where slug like 'metrics-%')`;

/** Measures the dashboard over several ranges, compared with plain statements for each bucket. */
export async function benchMetrics(place: BenchEnvironment): Promise<Row[]> {
  const figures = await measureMetrics(place);
  const ask = () => fetch(`${place.service.url}/api/v1/metrics/dashboard`, { headers: { authorization: place.authorization } });
  const statements = await place.count(ask);
  return figures.map(({ range, events, transitions, alone, database_ms, together, plain_ms }) => ({
    what: `dashboard ${range}, ${events.toLocaleString("en")} events, ${transitions.toLocaleString("en")} moves`,
    figure: `${rate(together)}; alone p50 ${round(alone.p50_ms)} ms, of which PostgreSQL ${round(database_ms)} ms`,
    target: events === AMOUNTS[0]!.events ? "100/s" : range === "1m" ? "PostgreSQL 30 ms" : "",
    baseline: `plain SQL for each bucket ${round(plain_ms)} ms`,
    ratio: `${round(plain_ms / alone.p50_ms)}x`,
    statements,
  }));
}

/** Measures the dashboard with growing numbers of events. */
async function measureMetrics({ db, service, authorization, gateway }: BenchEnvironment): Promise<MetricsFigures[]> {
  const ask = (range: RangeKey, at_once: number, requests: number) =>
    load({
      url: `${service.url}/api/v1/metrics/dashboard?range=${range}`,
      headers: { authorization },
      connections: at_once,
      requests,
    });
  await db.execute(sql`insert into ${boards} (organization_id, gateway_id, name, slug, description)
    select gateway.organization_id, gateway.id, 'Metrics ' || n, 'metrics-' || n, 'Bench'
    from gateways as gateway, generate_series(1, ${BOARDS}::int) as n where gateway.id = ${gateway.id}`);
  const all: MetricsFigures[] = [];
  for (const amount of AMOUNTS) {
    await fill(db, amount);
    for (const range of RANGES) {
      await ask(range, CONNECTIONS, 40);
      const before = await readServerTime(db);
      const alone = await ask(range, 1, ALONE);
      const database_ms = ((await readServerTime(db)) - before) / ALONE;
      const together = await ask(range, CONNECTIONS, 400);
      all.push({ ...amount, range, alone, database_ms, together, plain_ms: await recount(db, range) });
    }
  }
  await db.delete(boards).where(sql`${boards.id} in ${benchBoards}`);
  return all;
}

/** Adds the missing events in the order of time and counts them as the schedule does. */
async function fill(db: Db, { events, transitions }: Amount): Promise<void> {
  const missing = (wanted: SQL, each: SQL) => sql`generate_series(1, (${wanted})::int / (${each})::int)`;
  await db.execute(sql`insert into ${activity_events} (organization_id, board_id, event_type, message, created_at)
    select board.organization_id, board.id, case when n % 10 = 0 then 'webhook.notify_failed' else 'task.updated' end,
      'Task updated', now() - random() * interval '30 days' as created_at
    from ${boards} as board,
      ${missing(sql`${events} - (select count(*) from ${activity_events} where board_id in ${benchBoards})`, sql`${BOARDS}`)} as n
    where board.id in ${benchBoards} order by created_at`);
  await db.execute(sql`with made as (
      insert into ${tasks} (board_id, title, status, created_at)
      select board.id, 'Task ' || n, 'done', now() - interval '30 days' + random() * interval '25 days'
      from ${boards} as board, ${missing(
        sql`${transitions} - (select count(*) from ${task_transitions} where board_id in ${benchBoards})`,
        sql`${BOARDS * MOVES_OF_A_TASK}`,
      )} as n
      where board.id in ${benchBoards} returning id, board_id, created_at)
    insert into ${task_transitions} (board_id, task_id, from_status, to_status, at, in_progress_at)
    select board_id, id, (${STEPS})[step - 1], (${STEPS})[step], created_at + step * interval '17 hours' as at,
      case when step > 1 then created_at end
    from made, generate_series(1, ${MOVES_OF_A_TASK}::int) as step order by at`);
  const ctx = { db, actor: { type: "system" } } as Context<System>;
  await countNewEvents(ctx);
  await countNewTransitions(ctx);
  const tables = [activity_events, activity_counts, activity_day_counts, task_transitions, transition_counts, task_counts, tasks];
  await db.execute(sql`vacuum analyze ${sql.join(tables, sql`, `)}`);
}

/** Reads each bucket with plain statements. */
async function recount(db: Db, range: RangeKey): Promise<number> {
  const edges = toEdges(toTimeline(range, new Date())).map((edge) => sql`${edge.toISOString()}::timestamptz`);
  const start = performance.now();
  for (const [index, stop] of edges.slice(1).entries()) {
    const within = (column: SQL) => sql`board_id in ${benchBoards} and ${column} >= ${edges[index]!} and ${column} < ${stop}`;
    await db.execute(sql`select count(*), count(*) filter (where event_type like '%failed') from ${activity_events}
      where ${within(sql`created_at`)}`);
    await db.execute(sql`select count(distinct task_id) from ${task_transitions}
      where to_status = 'review' and ${within(sql`at`)}`);
    await db.execute(sql`select avg(at - in_progress_at) from ${task_transitions}
      where to_status = 'done' and ${within(sql`at`)}`);
    await db.execute(sql`select to_status, count(*) from (
        select distinct on (task_id) to_status from ${task_transitions}
        where board_id in ${benchBoards} and at < ${stop} order by task_id, at desc) as task
      group by to_status`);
  }
  return performance.now() - start;
}
