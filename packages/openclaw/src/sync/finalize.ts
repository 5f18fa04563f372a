import { and, asc, eq } from "drizzle-orm";
import { agents } from "@board/core/schema/agent.sql";
import { toDesiredEntry } from "../provisioning/heartbeat-config.ts";
import type { Context } from "@board/core/context/context";
import { GatewayError } from "../wire/gateway-error.ts";
import { configureEntries } from "../host/configure.ts";
import { isMissingSession, toGatewayMessage } from "../wire/failure.ts";
import type { Host } from "../host/open.ts";
import type { GatewayRow } from "@board/core/gateway/target";
import { forEachConcurrent } from "@board/core/values/concurrency";
import type { Findings, RunRow } from "./run.ts";
import { NOT_PROCESSED_ERROR } from "./agent-results.ts";
import { toSyncError } from "./result.ts";
import { sync_run_agents } from "@board/core/schema/sync.sql";

/** An agent whose files were written in a run, and that is still on its gateway. */
export interface SyncedAgent {
  agent_id: string;
  agent_name: string;
  board_id: string | null;
  session_key: string | null;
  heartbeat_config: Record<string, unknown> | null;
}

const RESET_CONCURRENCY = 24;

export async function listSyncedAgents(ctx: Context, { id, gateway_id }: RunRow): Promise<SyncedAgent[]> {
  return ctx.db
    .select({
      agent_id: agents.id,
      agent_name: agents.name,
      board_id: agents.board_id,
      session_key: agents.openclaw_session_id,
      heartbeat_config: agents.heartbeat_config,
    })
    .from(sync_run_agents)
    .innerJoin(agents, and(eq(agents.id, sync_run_agents.agent_id), eq(agents.gateway_id, gateway_id)))
    .where(and(eq(sync_run_agents.run_id, id), eq(sync_run_agents.status, "success")))
    .orderBy(asc(sync_run_agents.position));
}

/**
 * Runs steps 7 and 8 of docs/reference/gateways.md#steps-of-a-sync: one change of the host's configuration for all agents, then
 * session resets if requested. Rejects with a GatewayError for temporary failures. Permanent refusals are among the findings.
 */
export async function finalizeOnHost(
  host: Host,
  gateway: GatewayRow,
  { options }: RunRow,
  synced: readonly SyncedAgent[],
): Promise<Findings> {
  const findings: Findings = { errors: [], warnings: [] };
  await configureAgents(host, gateway, synced, findings);
  if (!options.reset_sessions) return findings;
  let failure: unknown;
  await forEachConcurrent(
    withSession(synced),
    { max_concurrent: RESET_CONCURRENCY, shouldStop: () => failure !== undefined },
    async (agent) => {
      try {
        await host.call("sessions.reset", { key: agent.session_key });
      } catch (error) {
        if (!(error instanceof GatewayError) || isRetriedLater(error)) failure = error;
        else if (!isMissingSession(error)) findings.errors.push(toSyncError(toGatewayMessage(error), agent));
      }
    },
  );
  if (failure !== undefined) throw failure;
  return findings;
}

async function configureAgents(
  host: Host,
  gateway: GatewayRow,
  synced: readonly SyncedAgent[],
  findings: Findings,
): Promise<void> {
  const desired = synced.map(({ session_key, agent_name, heartbeat_config }) =>
    toDesiredEntry(gateway, { name: agent_name, openclaw_session_id: session_key, heartbeat_config }),
  );
  try {
    const refused_keys = await configureEntries(host, desired);
    if (refused_keys.length === 0) return;
    const message = `The host does not accept some settings of its agents: ${refused_keys.join(", ")}.`;
    findings.warnings.push({ agent_id: null, agent_name: null, message });
  } catch (error) {
    if (!(error instanceof GatewayError) || isRetriedLater(error)) throw error;
    findings.errors.push(toSyncError(toGatewayMessage(error)));
  }
}

/** Returns whether the host is unreachable, or asks for a longer wait than this attempt allows. */
const isRetriedLater = (error: GatewayError): boolean => error.is_transient || (error.failure.retry_after_ms ?? null) !== null;

const withSession = (synced: readonly SyncedAgent[]) => synced.filter(({ session_key }) => session_key !== null);

/** Returns the findings of a run whose last steps failed for the given reason. */
export function toUnfinishedFindings(reason: string, { options }: RunRow, synced: readonly SyncedAgent[]): Findings {
  const resets = options.reset_sessions ? withSession(synced).map((agent) => toSyncError(NOT_PROCESSED_ERROR, agent)) : [];
  return { errors: [toSyncError(reason), ...resets], warnings: [] };
}
