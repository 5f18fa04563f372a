import { sql } from "drizzle-orm";
import * as z from "zod";
import { countEvents, type EventCount } from "../activity/count-intervals.ts";
import type { Member } from "../context/actor.ts";
import { agents } from "../schema/agent.sql.ts";
import { memoPerApp } from "../context/app-memo.ts";
import { createCoalescer } from "../values/coalesce.ts";
import { type Context, isInTransaction, readAll } from "../context/context.ts";
import { rowsOf } from "../db/database.ts";
import { preparedQuery } from "../db/prepared.ts";
import { Id, Instant, lazyObject } from "../values/wire.ts";
import { countBacklog } from "./count-backlog.ts";
import { readFlow } from "./flow.ts";
import { PendingApprovals, readPendingApprovals } from "./pending-approvals.ts";
import { toEdges, RangeKey, type Timeline, toTimeline } from "./range.ts";
import { readScope, type Scope } from "./scope.ts";
import { SeriesComparison, StatusCountsComparison, roundTo2Decimals, toComparison, toPointValue } from "./series.ts";
import { mayReadAll } from "../organization/board-rights.ts";

const DEFAULT_RANGE: RangeKey = "24h";

export const DashboardQuery = lazyObject(() => ({
  range: RangeKey.optional().describe(`The time before now that the figures cover; \`${DEFAULT_RANGE}\` when absent.`),
  range_key: RangeKey.optional().describe("Another name for `range`. When both are sent, `range` is used."),
  board_id: Id.optional().describe("Only this board."),
  group_id: Id.optional().describe("Only the boards of this group."),
}));
export type DashboardQuery = z.infer<typeof DashboardQuery>;

const currentCount = (status: string) => z.int().describe(`Tasks in ${status} now.`);

const Kpis = lazyObject(() => ({
  active_agents: z.int().describe("Agents that were last seen in the range."),
  tasks_in_progress: currentCount("progress"),
  error_rate_pct: z.number().describe("Share of error events among all events of the range, in percent; 0 without events."),
  median_cycle_time_hours_7d: z
    .number()
    .nullable()
    .describe(
      "Median hours from the start of work to done over the last seven days, for every range; null when no task was completed.",
    ),
  inbox_tasks: currentCount("inbox"),
  in_progress_tasks: currentCount("progress"),
  review_tasks: currentCount("review"),
  done_tasks: currentCount("done"),
})).meta({ id: "DashboardKpis", description: "Single figures of the dashboard." });

export const Dashboard = lazyObject(() => ({
  range: RangeKey.describe("The range of the figures."),
  generated_at: Instant.describe("The end of the range."),
  kpis: Kpis.describe("Single figures."),
  throughput: SeriesComparison.describe("Different tasks that moved to review."),
  cycle_time: SeriesComparison.describe("Mean hours from the start of work to done, in the bucket of the completion."),
  error_rate: SeriesComparison.describe("Share of error events among all events, in percent."),
  wip: StatusCountsComparison.describe("Tasks by status."),
  pending_approvals: PendingApprovals.describe("Approvals that wait for a decision."),
})).meta({ id: "Dashboard", description: "Figures about the work on boards over a range, and over the time before it." });
export type Dashboard = z.infer<typeof Dashboard>;

const runs = memoPerApp(createCoalescer<Dashboard>);

/**
 * Returns the dashboard of the boards in scope (docs/reference/metrics.md#dashboard). Without boards, all figures are zero.
 * Requests for the same figures by callers with the same rights share one run, which starts after the last of these requests has
 * arrived.
 */
export function getDashboard(ctx: Context<Member>, query: DashboardQuery): Promise<Dashboard> {
  const range = query.range ?? query.range_key ?? DEFAULT_RANGE;
  const { organization_id, member_id } = ctx.actor.active;
  const reader = mayReadAll(ctx.actor) ? null : member_id;
  const shared = JSON.stringify([organization_id, reader, range, query.board_id ?? null, query.group_id ?? null]);
  const read = () => readDashboard(ctx, range, query);
  return isInTransaction(ctx) ? read() : runs(ctx).run(shared, read);
}

async function readDashboard(ctx: Context<Member>, range: RangeKey, scope: Scope): Promise<Dashboard> {
  const timeline = toTimeline(range, ctx.now());
  const { board_ids, has_long_backlog } = await readScope(ctx, scope);
  if (has_long_backlog) await countBacklog(ctx);
  const [flow, events, active_agents, pending_approvals] = await readAll(ctx, [
    () => readFlow(ctx, board_ids, timeline),
    () => countEvents(ctx, board_ids, toEdges(timeline)),
    () => countActiveAgents(ctx, board_ids, timeline),
    () => readPendingApprovals(ctx, board_ids),
  ]);
  const { reviewed, cycle_hours, median_hours_7d, status_counts } = flow;
  const { inbox, in_progress, review, done } = status_counts.at(-1)!;
  return {
    range: timeline.range,
    generated_at: timeline.now.toISOString(),
    kpis: {
      active_agents,
      tasks_in_progress: in_progress,
      error_rate_pct: roundTo2Decimals(errorRate(events.slice(timeline.comparison.length))),
      median_cycle_time_hours_7d: median_hours_7d === null ? null : roundTo2Decimals(median_hours_7d),
      inbox_tasks: inbox,
      in_progress_tasks: in_progress,
      review_tasks: review,
      done_tasks: done,
    },
    throughput: toComparison(timeline, reviewed.map(toPointValue)),
    cycle_time: toComparison(timeline, cycle_hours.map(toPointValue)),
    error_rate: toComparison(
      timeline,
      events.map((bucket) => toPointValue(errorRate([bucket]))),
    ),
    wip: toComparison(timeline, status_counts),
    pending_approvals,
  };
}

async function countActiveAgents(ctx: Context, board_ids: readonly string[], { start, now }: Timeline): Promise<number> {
  const values = { board_ids: [...board_ids], start: start.toISOString(), now: now.toISOString() };
  return rowsOf<{ total: number }>(await activeAgents(ctx.db).execute(values))[0]!.total;
}

/**
 * Counts the agents of each board that were seen in the window. The times are compared outside the `where`; otherwise PostgreSQL
 * would use the index on `last_seen_at` and read the agents of all organizations.
 */
const activeAgents = preparedQuery(
  () => sql`
    select (count(*) filter (where agent.last_seen_at >= ${sql.placeholder("start")}::timestamptz
      and agent.last_seen_at < ${sql.placeholder("now")}::timestamptz))::int as total
    from unnest(${sql.placeholder("board_ids")}::uuid[]) as board(id)
    cross join lateral (select agent.last_seen_at from ${agents} as agent where agent.board_id = board.id offset 0) as agent`,
);

/** Returns the percentage of error events; 0 if there are no events. */
function errorRate(counts: readonly EventCount[]): number {
  const events = counts.reduce((sum, bucket) => sum + bucket.events, 0);
  const failed = counts.reduce((sum, bucket) => sum + bucket.failed, 0);
  return events === 0 ? 0 : (100 * failed) / events;
}
