import * as z from "zod";
import { Id, Instant, QueryBoolean } from "../wire.ts";
import type { RunAgentRow, RunRow } from "./run.ts";

/** What a template sync is asked to do. */
export const SyncQuery = z.object({
  include_main: QueryBoolean.default(true).describe("The gateway's main agent too, after the others."),
  lead_only: QueryBoolean.default(false).describe("Of the boards' agents only the leads."),
  reset_sessions: QueryBoolean.default(false).describe("Have each synced agent's session start anew."),
  rotate_tokens: QueryBoolean.default(false).describe(
    "Give every selected agent a new token, which replaces the old one as soon as its host has it. Agents that their host does not know are made there.",
  ),
  force_bootstrap: QueryBoolean.default(false).describe("Write BOOTSTRAP.md again, with which an agent begins anew."),
  overwrite: QueryBoolean.default(false).describe("Write over what agents keep themselves, too: USER.md and MEMORY.md."),
  board_id: Id.optional().describe("Of the boards' agents only those of this one."),
});
export type SyncQuery = z.infer<typeof SyncQuery>;

/** Without being asked for anything in particular, as the schedule is. */
export const SYNC_DEFAULTS: SyncQuery = SyncQuery.parse({});

export const SyncError = z.object({
  agent_id: Id.nullable().describe("The agent; null when it is about none, or the agent was removed since."),
  agent_name: z.string().nullable().describe("Its name."),
  board_id: Id.nullable().describe("Its board; null for a main agent."),
  error: z.string().describe("What went wrong."),
  message: z.string().describe("The same."),
});
export type SyncError = z.infer<typeof SyncError>;

export const SyncWarning = z.object({
  agent_id: Id.nullable().describe("The agent; null when it is about all of them."),
  agent_name: z.string().nullable().describe("Its name."),
  message: z.string().describe("What the host does not take as it is."),
});
export type SyncWarning = z.infer<typeof SyncWarning>;

const SyncedAgent = z.object({
  agent_id: Id.nullable().describe("Id of the agent; null when it was removed since."),
  name: z.string().describe("Its name."),
  status: z.literal("success").describe("Its files are written."),
});

export const TemplateSyncResult = z
  .object({
    gateway_id: Id.describe("Id of the gateway."),
    synced_agents: z.array(SyncedAgent).describe("Agents whose files are up to date on the host."),
    errors: z.array(SyncError).describe("What could not be done. It is no reason for an error status."),
    total_synced: z.int().describe("How many agents were synced."),
    total_errors: z.int().describe("How many errors there are."),
    agents_synced: z.int().describe("The same as `total_synced`."),
    files_written: z.int().describe("How many files were written on the host."),
    include_main: z.boolean().describe("Whether the main agent was asked for."),
    reset_sessions: z.boolean().describe("Whether sessions were to start anew."),
    agents_updated: z.int().describe("How many of the boards' agents were synced."),
    agents_skipped: z.int().describe("How many of the boards' agents could not be synced."),
    main_updated: z.boolean().describe("Whether the main agent was synced."),
    warnings: z.array(SyncWarning).describe("What stands somewhere else on the host than where it belongs, or was left out."),
  })
  .meta({ id: "TemplateSyncResult", description: "What a template sync did, agent by agent." });
export type TemplateSyncResult = z.infer<typeof TemplateSyncResult>;

export const TemplateSyncRun = z
  .object({
    run_id: Id.describe("Id of the run."),
    gateway_id: Id.describe("Id of the gateway."),
    status: z.enum(["running", "done"]).describe("`done` once nothing more will happen."),
    cause: z.enum(["request", "schedule"]).describe("What began it."),
    created_at: Instant.describe("When it began."),
    finished_at: Instant.nullable().describe("When it ended."),
    result: TemplateSyncResult.describe("What was done so far."),
  })
  .meta({ id: "TemplateSyncRun", description: "A template sync that goes on after its request." });
export type TemplateSyncRun = z.infer<typeof TemplateSyncRun>;

/** Whom an error or a warning is about. */
export type Whom = { agent_id: string | null; agent_name: string; board_id: string | null };

export const errorOf = (error: string, whom: Whom | null = null): SyncError => ({
  agent_id: whom?.agent_id ?? null,
  agent_name: whom?.agent_name ?? null,
  board_id: whom?.board_id ?? null,
  error,
  message: error,
});

/** What is known of a run beside its agents. */
export type RunFacts = Pick<RunRow, "gateway_id" | "options" | "errors" | "warnings">;

/** The result of a run so far: what was done with each agent in their order, then what concerns all of them. */
export function toResult({ gateway_id, options, errors, warnings }: RunFacts, rows: readonly RunAgentRow[]): TemplateSyncResult {
  const synced = rows.filter(({ status }) => status === "success");
  const failed = rows.filter(({ status }) => status === "error");
  const ofBoards = (list: readonly RunAgentRow[]) => list.filter(({ is_main }) => !is_main).length;
  const all_errors = [...failed.map((row) => errorOf(row.error ?? "", row)), ...errors];
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
    agents_updated: ofBoards(synced),
    agents_skipped: ofBoards(failed),
    main_updated: synced.length > ofBoards(synced),
    warnings: [
      ...rows.flatMap(({ agent_id, agent_name, warnings: own }) => own.map((message) => ({ agent_id, agent_name, message }))),
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
