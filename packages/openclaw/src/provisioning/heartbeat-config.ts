import { and, asc, eq, inArray, isNotNull, ne, sql } from "drizzle-orm";
import type { Context } from "@board/core/context/context";
import type { JobHandler } from "@board/core/job/handler";
import type { DesiredEntry } from "../host/config.ts";
import { configureEntries } from "../host/configure.ts";
import { openHost } from "../host/open.ts";
import { trackConnectivity } from "./connectivity.ts";
import { type RetryPolicy, SYNC_RETRY } from "../wire/retry.ts";
import { type GatewayRow, toTarget, findUsableGateway } from "@board/core/gateway/target";
import type { AgentRow } from "@board/core/agent/agent";
import { agents } from "@board/core/schema/agent.sql";
import { DEFAULT_HEARTBEAT } from "@board/core/agent/heartbeat-config";
import { jobs } from "@board/core/schema/job.sql";
import type { JobKind } from "@board/core/job/kinds";
import { toEntryId, workspacePath } from "@board/core/values/session-key";

/** The time limit is long enough for a restart of the host. After a longer outage, the job's next attempt tries again. */
const HEARTBEAT_RETRY: RetryPolicy = { ...SYNC_RETRY, total_ms: 20_000, max_ms: 5_000 };
/** Time limit of the first contact in milliseconds, longer than a restart takes. */
const CONNECT_MS = 1_500;
/** The kinds of jobs that write an agent's settings after its files. */
const WAITING_KINDS: JobKind[] = ["agent.provision", "agent.update"];

/** Writes the stored heartbeat settings to the host configuration. Removed agents are skipped. */
export const configureHeartbeats: JobHandler<"config.heartbeat"> = {
  async run(ctx, { gateway_id, agent_ids }) {
    const gateway = await findUsableGateway(ctx, gateway_id);
    const desired = gateway?.workspace_root.trim() ? await listDesiredEntries(ctx, gateway, agent_ids) : [];
    if (!gateway || desired.length === 0) return;
    const refused_keys = await trackConnectivity(ctx, gateway, async () => {
      const host_ref = { id: gateway_id, target: toTarget(ctx, gateway) };
      return configureEntries(await openHost(ctx, host_ref, HEARTBEAT_RETRY, { connect_ms: CONNECT_MS }), desired);
    });
    if (refused_keys.length > 0)
      ctx.log.warn("gateway.config_keys_refused", "Host refused some heartbeat settings", {
        gateway_id,
        keys: refused_keys,
      });
  },
};

async function listDesiredEntries(ctx: Context, gateway: GatewayRow, agent_ids: string[]): Promise<DesiredEntry[]> {
  const rows = await ctx.db
    .select({ name: agents.name, openclaw_session_id: agents.openclaw_session_id, heartbeat_config: agents.heartbeat_config })
    .from(agents)
    .where(and(inArray(agents.id, agent_ids), eq(agents.gateway_id, gateway.id), isNotNull(agents.openclaw_session_id)))
    .orderBy(asc(agents.created_at), asc(agents.id));
  return rows.map((agent) => toDesiredEntry(gateway, agent));
}

/** Limits the agents in one change of a configuration, because the oldest hosts accept only small frames. */
const MAX_WAITING = 200;

/**
 * Lists the settings of agents that wait to be provisioned or updated on the host. Hosts allow few configuration changes per
 * minute, so the first of these jobs also writes the settings of the other agents.
 */
export async function listWaitingEntries(ctx: Context, gateway: GatewayRow, except_id: string): Promise<DesiredEntry[]> {
  const waiting = ctx.db
    .select({ agent_id: sql<string>`(${jobs.payload} ->> 'agent_id')::uuid` })
    .from(jobs)
    .where(and(eq(jobs.gateway_id, gateway.id), inArray(jobs.kind, WAITING_KINDS), inArray(jobs.status, ["queued", "running"])));
  const rows = await ctx.db
    .select({ name: agents.name, openclaw_session_id: agents.openclaw_session_id, heartbeat_config: agents.heartbeat_config })
    .from(agents)
    .where(
      and(
        inArray(agents.id, waiting),
        ne(agents.id, except_id),
        eq(agents.gateway_id, gateway.id),
        isNotNull(agents.openclaw_session_id),
      ),
    )
    .orderBy(asc(agents.created_at), asc(agents.id))
    .limit(MAX_WAITING);
  return rows.map((agent) => toDesiredEntry(gateway, agent));
}

/** Returns the settings that the host's configuration must have for an agent. */
export function toDesiredEntry(
  { workspace_root }: { workspace_root: string },
  agent: Pick<AgentRow, "name" | "openclaw_session_id" | "heartbeat_config">,
): DesiredEntry {
  const id = toEntryId(agent);
  const heartbeat = { ...DEFAULT_HEARTBEAT, ...agent.heartbeat_config };
  return { id, settings: { workspace: workspacePath(workspace_root, id), heartbeat } };
}
