import * as z from "zod";
import { RUN_STATUSES } from "../schema/task.sql.ts";
import { Id, Instant, lazyObject } from "../values/wire.ts";
import type { TaskRow } from "./status-rules.ts";

// The state of a task's latest run. It is stored in columns of the task, so that lists of tasks do not read another table.

export const RunStatus = z.enum(RUN_STATUSES);
export type RunStatus = z.infer<typeof RunStatus>;

export const TaskRun = lazyObject(() => ({
  id: Id.describe("Id of the run."),
  status: RunStatus.describe("State of the run."),
  agent_id: Id.describe("Agent that works or worked on the task, also after its removal."),
  started_at: Instant.describe("When the run began."),
  ended_at: Instant.nullable().describe("When it ended; null while it runs."),
})).meta({ id: "TaskRun", description: "The latest attempt of an agent on a task." });
type TaskRun = z.infer<typeof TaskRun>;

export const TaskUsage = lazyObject(() => ({
  total_tokens: z.int().describe("Input and output tokens that were reported."),
  cost_usd: z.string().nullable().describe("Sum of the reported prices as a decimal number; null if nobody reported one."),
  runs: z.int().describe("Number of runs."),
})).meta({ id: "TaskUsage", description: "What all attempts on a task have used." });
type TaskUsage = z.infer<typeof TaskUsage>;

export const toTaskRun = ({ run_id, run_status, run_agent_id, run_started_at, run_ended_at }: TaskRow): TaskRun | null =>
  run_id === null
    ? null
    : {
        id: run_id,
        status: run_status!,
        agent_id: run_agent_id!,
        started_at: run_started_at!.toISOString(),
        ended_at: run_ended_at?.toISOString() ?? null,
      };

export const toTaskUsage = ({ total_tokens, cost_usd, run_count }: TaskRow): TaskUsage => ({
  total_tokens,
  cost_usd,
  runs: run_count,
});
