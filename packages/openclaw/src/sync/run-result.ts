import { type TemplateSyncResult, type TemplateSyncRun, toSyncError } from "./result.ts";
import type { RunAgentRow, RunRow } from "./run.ts";

/** The fields of a run that its result shows, apart from its agents. */
type RunSummary = Pick<RunRow, "gateway_id" | "options" | "errors" | "warnings">;

/** Returns the result of a run so far. Errors and warnings of agents come first, in the order of the agents. */
export function toResult(
  { gateway_id, options, errors, warnings }: RunSummary,
  rows: readonly RunAgentRow[],
): TemplateSyncResult {
  const synced = rows.filter(({ status }) => status === "success");
  const failed = rows.filter(({ status }) => status === "error");
  const countBoardAgents = (list: readonly RunAgentRow[]) => list.filter(({ is_main }) => !is_main).length;
  const all_errors = [...failed.map((row) => toSyncError(row.error ?? "", row)), ...errors];
  return {
    gateway_id,
    synced_agents: synced.map(({ agent_id, agent_name }) => ({ agent_id, name: agent_name, status: "success" })),
    errors: all_errors,
    total_synced: synced.length,
    total_errors: all_errors.length,
    agents_synced: synced.length,
    files_written: rows.reduce((sum, row) => sum + row.files_written, 0),
    include_main: options.include_main,
    reset_sessions: options.reset_sessions,
    agents_updated: countBoardAgents(synced),
    agents_skipped: countBoardAgents(failed),
    main_updated: synced.length > countBoardAgents(synced),
    warnings: [
      ...rows.flatMap((row) => row.warnings.map((message) => ({ agent_id: row.agent_id, agent_name: row.agent_name, message }))),
      ...warnings,
    ],
  };
}

export const toRun = (run: RunRow, rows: readonly RunAgentRow[]): TemplateSyncRun => ({
  run_id: run.id,
  gateway_id: run.gateway_id,
  status: run.status,
  cause: run.cause,
  created_at: run.created_at.toISOString(),
  finished_at: run.finished_at?.toISOString() ?? null,
  result: toResult(run, rows),
});
