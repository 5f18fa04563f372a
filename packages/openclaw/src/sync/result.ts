import * as z from "zod";
import { truncatable } from "@board/core/lists/large-fields";
import { Id, Instant, QueryBoolean, lazyObject } from "@board/core/values/wire";

/** The options of a template sync. */
export const SyncQuery = lazyObject(() => ({
  include_main: QueryBoolean.default(true).describe("Also sync the gateway's main agent, after the others."),
  lead_only: QueryBoolean.default(false).describe("Sync only the leads of the boards."),
  reset_sessions: QueryBoolean.default(false).describe("Reset the session of each synced agent."),
  rotate_tokens: QueryBoolean.default(false).describe(
    "Give every selected agent a new token, which replaces the old one as soon as the host has it. Agents that the host does not know are created there.",
  ),
  force_bootstrap: QueryBoolean.default(false).describe("Write BOOTSTRAP.md again, which makes an agent repeat its first start."),
  overwrite: QueryBoolean.default(false).describe(
    "Also overwrite the files that agents maintain themselves: USER.md and MEMORY.md.",
  ),
  board_id: Id.optional().describe("Sync only the agents of this board, not those of the gateway's other boards."),
}));
export type SyncQuery = z.infer<typeof SyncQuery>;

/** Returns the options of a scheduled sync. */
export const syncDefaults = (): SyncQuery => SyncQuery.parse({});

export const SyncError = lazyObject(() => ({
  agent_id: Id.nullable().describe(
    "Id of the agent; null when the error concerns no single agent, or the agent was removed since.",
  ),
  agent_name: z.string().nullable().describe("Name of the agent."),
  board_id: Id.nullable().describe("Id of the agent's board; null for a main agent."),
  error: z.string().describe("What went wrong."),
  message: z.string().describe("The same text as `error`."),
}));
export type SyncError = z.infer<typeof SyncError>;

export const SyncWarning = lazyObject(() => ({
  agent_id: Id.nullable().describe("Id of the agent; null when the warning concerns all agents."),
  agent_name: z.string().nullable().describe("Name of the agent."),
  message: z.string().describe("What the host stored differently, or did not accept."),
}));
export type SyncWarning = z.infer<typeof SyncWarning>;

const SyncedAgent = lazyObject(() => ({
  agent_id: Id.nullable().describe("Id of the agent; null when it was removed since."),
  name: z.string().describe("Name of the agent."),
  status: z.literal("success").describe("The agent's files were written."),
}));

export const TemplateSyncResult = lazyObject(() => ({
  gateway_id: Id.describe("Id of the gateway."),
  synced_agents: z.array(SyncedAgent).describe("Agents whose files are up to date on the host."),
  errors: z.array(SyncError).describe("What failed. The status is 200 even when there are errors."),
  total_synced: z.int().describe("Number of synced agents."),
  total_errors: z.int().describe("Number of errors."),
  agents_synced: z.int().describe("The same as `total_synced`."),
  files_written: z.int().describe("Number of files written on the host."),
  include_main: z.boolean().describe("Whether the request included the main agent."),
  reset_sessions: z.boolean().describe("Whether the request asked to reset sessions."),
  agents_updated: z.int().describe("Number of board agents that were synced."),
  agents_skipped: z.int().describe("Number of board agents that could not be synced."),
  main_updated: z.boolean().describe("Whether the main agent was synced."),
  warnings: z.array(SyncWarning).describe("What the host stored in another place than usual, or did not accept."),
  ...truncatable,
})).meta({ id: "TemplateSyncResult", description: "What a template sync did, agent by agent." });
export type TemplateSyncResult = z.infer<typeof TemplateSyncResult>;

export const TemplateSyncRun = lazyObject(() => ({
  run_id: Id.describe("Id of the run."),
  gateway_id: Id.describe("Id of the gateway."),
  status: z.enum(["running", "done"]).describe("`done` when the sync has ended."),
  cause: z.enum(["request", "schedule"]).describe("What started the sync."),
  created_at: Instant.describe("When the sync started."),
  finished_at: Instant.nullable().describe("When the sync ended; null while it is running."),
  result: TemplateSyncResult.describe("The result so far."),
})).meta({ id: "TemplateSyncRun", description: "A template sync that continues after its request." });
export type TemplateSyncRun = z.infer<typeof TemplateSyncRun>;

/** The agent that an error concerns. */
type SyncSubject = { agent_id: string | null; agent_name: string; board_id: string | null };

export const toSyncError = (error: string, subject: SyncSubject | null = null): SyncError => ({
  agent_id: subject?.agent_id ?? null,
  agent_name: subject?.agent_name ?? null,
  board_id: subject?.board_id ?? null,
  error,
  message: error,
});
