import { and, asc, eq } from "drizzle-orm";
import { agents } from "../agent/agent.sql.ts";
import { DEFAULT_HEARTBEAT } from "../agent/heartbeat-config.ts";
import { hostAgentId, workspacePath } from "../agent/host.ts";
import type { Context } from "../context.ts";
import { GatewayError } from "../gateway/client.ts";
import { configureEntries } from "../gateway/configure.ts";
import { isMissingSession, isTransient, toGatewayMessage } from "../gateway/failure.ts";
import type { Host } from "../gateway/host.ts";
import type { GatewayRow } from "../gateway/target.ts";
import { inParallel } from "./patience.ts";
import type { Findings, RunRow } from "./run.ts";
import { NOT_PROCESSED } from "./settle.ts";
import { errorOf } from "./sync-result.ts";
import { sync_run_agents } from "./sync.sql.ts";

/** An agent whose files were written in a run, and that is still on the gateway. */
export interface Synced {
  agent_id: string;
  agent_name: string;
  board_id: string | null;
  session_key: string | null;
  heartbeat_config: Record<string, unknown> | null;
}

const RESETS_AT_A_TIME = 24;

export async function readSynced(ctx: Context, { id, gateway_id }: RunRow): Promise<Synced[]> {
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
 * What is done once the files are written (contract gateways.md §12.2, steps 7 and 8): one change of the host's
 * configuration for all agents, and then new sessions, if asked for. Rejects with a GatewayError for what may go better
 * later; what the host refuses for good is among the findings.
 */
export async function finishSync(
  host: Host,
  gateway: GatewayRow,
  { options }: RunRow,
  synced: readonly Synced[],
): Promise<Findings> {
  const findings: Findings = { errors: [], warnings: [] };
  await configure(host, gateway, synced, findings);
  if (!options.reset_sessions) return findings;
  let away: unknown;
  await inParallel(withSession(synced), { at_a_time: RESETS_AT_A_TIME, isOver: () => away !== undefined }, async (one) => {
    try {
      await host.call("sessions.reset", { key: one.session_key });
    } catch (error) {
      if (!(error instanceof GatewayError) || isForLater(error)) away = error;
      else if (!isMissingSession(error)) findings.errors.push(errorOf(toGatewayMessage(error), one));
    }
  });
  if (away !== undefined) throw away;
  return findings;
}

async function configure(host: Host, gateway: GatewayRow, synced: readonly Synced[], findings: Findings): Promise<void> {
  const wanted = synced.map(({ session_key, agent_name, heartbeat_config }) => {
    const id = hostAgentId(session_key ?? agent_name);
    const heartbeat = { ...DEFAULT_HEARTBEAT, ...heartbeat_config };
    return { id, settings: { workspace: workspacePath(gateway.workspace_root, id), heartbeat } };
  });
  try {
    const left_out = await configureEntries(host, wanted);
    if (left_out.length === 0) return;
    const message = `The host does not take some settings of its agents: ${left_out.join(", ")}.`;
    findings.warnings.push({ agent_id: null, agent_name: null, message });
  } catch (error) {
    if (!(error instanceof GatewayError) || isForLater(error)) throw error;
    findings.errors.push(errorOf(toGatewayMessage(error)));
  }
}

/** The host is away, or has asked to be left alone for longer than is waited here. */
const isForLater = (error: GatewayError): boolean => isTransient(error) || (error.failure.retry_after_ms ?? null) !== null;

const withSession = (synced: readonly Synced[]) => synced.filter(({ session_key }) => session_key !== null);

/** The findings of a run that could not be finished for the given reason. */
export function unfinished(reason: string, { options }: RunRow, synced: readonly Synced[]): Findings {
  const resets = options.reset_sessions ? withSession(synced).map((one) => errorOf(NOT_PROCESSED, one)) : [];
  return { errors: [errorOf(reason), ...resets], warnings: [] };
}
