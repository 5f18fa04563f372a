import { SpanKind } from "@opentelemetry/api";
import type { Context } from "@board/core/context/context";
import { listEndedRuns } from "@board/core/run/ended-runs";
import type { Tick } from "../scheduler.ts";
import { toTraceId, toSpanId } from "./trace-ids.ts";
import type { SpanRecord } from "./spans.ts";

/** Runs are stored this long after their end, because their usage may be reported a little late. */
const DELAY_MS = 60_000;

/**
 * Stores the runs that ended in one interval of a schedule as spans. The trace belongs to the task, so it shows all runs of the
 * task. Each scheduled run takes place in one process, so each run of an agent is stored once.
 */
export async function recordEndedRuns(
  ctx: Context,
  { tick_at, every_ms }: Tick,
  store: (span: SpanRecord) => void,
): Promise<void> {
  const until = new Date(tick_at.getTime() - DELAY_MS);
  for (const run of await listEndedRuns(ctx, { from: new Date(until.getTime() - every_ms), until }))
    store({
      name: `invoke_agent ${run.agent_name}`,
      kind: SpanKind.INTERNAL,
      traceId: toTraceId(run.task_id),
      spanId: toSpanId(run.id),
      parentId: null,
      started_at: run.started_at,
      ended_at: run.ended_at,
      attributes: {
        "gen_ai.operation.name": "invoke_agent",
        "gen_ai.agent.id": run.agent_id,
        "gen_ai.agent.name": run.agent_name,
        "gen_ai.usage.input_tokens": run.input_tokens,
        "gen_ai.usage.output_tokens": run.output_tokens,
        "gen_ai.usage.cache_read.input_tokens": run.cached_input_tokens,
        "gen_ai.usage.reasoning.output_tokens": run.reasoning_tokens,
        ...(run.models.length === 0 ? {} : { "gen_ai.request.model": run.models.map(({ model }) => model).join(",") }),
        ...(run.cost_usd === null ? {} : { "board.usage.cost_usd": Number(run.cost_usd) }),
        "board.id": run.board_id,
        "board.task.id": run.task_id,
        "board.run.id": run.id,
        "board.run.status": run.status,
        "board.run.steps": run.steps,
      },
      error: run.status === "expired" ? (run.ended_reason ?? run.status) : undefined,
    });
}
