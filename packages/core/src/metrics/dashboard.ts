import { and, count, eq, gte, lt } from "drizzle-orm";
import * as z from "zod";
import { countEvents, type EventCount } from "../activity/count.ts";
import type { Member } from "../actor.ts";
import { agents } from "../agent/agent.sql.ts";
import type { Context } from "../context.ts";
import { Id, Instant } from "../wire.ts";
import { readFlow } from "./flow.ts";
import { PendingApprovals, readPendingApprovals } from "./pending-approvals.ts";
import { edgesOf, RangeKey, type Timeline, toTimeline } from "./range.ts";
import { among, readScope, type Scope } from "./scope.ts";
import { ComparedSeries, ComparedWork, round, toCompared, toValue } from "./series.ts";
import { readWork } from "./work.ts";

const DEFAULT_RANGE: RangeKey = "24h";

export const DashboardQuery = z.object({
  range: RangeKey.optional().describe(`How far the figures reach back from now; \`${DEFAULT_RANGE}\` when absent.`),
  range_key: RangeKey.optional().describe("Another name of `range`, which wins."),
  board_id: Id.optional().describe("Only figures of this board."),
  group_id: Id.optional().describe("Only figures of this board group."),
});
export interface DashboardQuery extends Scope {
  range?: RangeKey | undefined;
  range_key?: RangeKey | undefined;
}

const now = (status: string) => z.int().describe(`Tasks in ${status} now.`);

const Kpis = z
  .object({
    active_agents: z.int().describe("Agents that were heard from in the range."),
    tasks_in_progress: now("progress"),
    error_rate_pct: z.number().describe("Share of error events among all events of the range, in percent; 0 without events."),
    median_cycle_time_hours_7d: z
      .number()
      .nullable()
      .describe("Median hours from the start of work to done over the last seven days, whatever the range; null for none."),
    inbox_tasks: now("inbox"),
    in_progress_tasks: now("progress"),
    review_tasks: now("review"),
    done_tasks: now("done"),
  })
  .meta({ id: "DashboardKpis", description: "Single figures of the dashboard." });

export const Dashboard = z
  .object({
    range: RangeKey.describe("The range in force."),
    generated_at: Instant.describe("Where the range ends."),
    kpis: Kpis.describe("Single figures."),
    throughput: ComparedSeries.describe("Different tasks that came to review."),
    cycle_time: ComparedSeries.describe("Mean hours from the start of work to done, by the time of done."),
    error_rate: ComparedSeries.describe("Share of error events among all events, in percent."),
    wip: ComparedWork.describe("Tasks by status."),
    pending_approvals: PendingApprovals.describe("Approvals that wait for a decision."),
  })
  .meta({ id: "Dashboard", description: "How work on boards went: figures over a range, and over the time before it." });
export type Dashboard = z.infer<typeof Dashboard>;

/** The dashboard of the boards in scope (contract activity-metrics.md §6). Without any it holds zeros. */
export async function getDashboard(ctx: Context<Member>, query: DashboardQuery): Promise<Dashboard> {
  const timeline = toTimeline(query.range ?? query.range_key ?? DEFAULT_RANGE, ctx.now());
  const edges = edgesOf(timeline);
  const board_ids = await readScope(ctx, query);
  const [work, flow, events, active_agents, pending_approvals] = await Promise.all([
    readWork(ctx, board_ids, edges.slice(1, -1)),
    readFlow(ctx, board_ids, edges),
    countEvents(ctx, board_ids, edges),
    countActiveAgents(ctx, board_ids, timeline),
    readPendingApprovals(ctx, board_ids),
  ]);
  const { reviewed, cycle_hours, median_hours_7d } = flow;
  const { inbox, in_progress, review, done } = work.at(-1)!;
  return {
    range: timeline.range,
    generated_at: timeline.now.toISOString(),
    kpis: {
      active_agents,
      tasks_in_progress: in_progress,
      error_rate_pct: round(errorRate(events.slice(timeline.comparison.length))),
      median_cycle_time_hours_7d: median_hours_7d === null ? null : round(median_hours_7d),
      inbox_tasks: inbox,
      in_progress_tasks: in_progress,
      review_tasks: review,
      done_tasks: done,
    },
    throughput: toCompared(timeline, reviewed.map(toValue)),
    cycle_time: toCompared(timeline, cycle_hours.map(toValue)),
    error_rate: toCompared(
      timeline,
      events.map((one) => toValue(errorRate([one]))),
    ),
    wip: toCompared(
      timeline,
      work.map(({ blocked: _blocked, ...shown }) => shown),
    ),
    pending_approvals,
  };
}

async function countActiveAgents(ctx: Context, board_ids: readonly string[], { start, now }: Timeline): Promise<number> {
  const [row] = await ctx.db
    .select({ total: count() })
    .from(agents)
    .where(and(eq(agents.board_id, among(board_ids)), gte(agents.last_seen_at, start), lt(agents.last_seen_at, now)));
  return row!.total;
}

/** In percent of all events; 0 when there are none. */
function errorRate(counts: readonly EventCount[]): number {
  const events = counts.reduce((sum, one) => sum + one.events, 0);
  const failed = counts.reduce((sum, one) => sum + one.failed, 0);
  return events === 0 ? 0 : (100 * failed) / events;
}
