import { and, asc, eq, inArray, isNotNull } from "drizzle-orm";
import type { Context } from "../context.ts";
import type { JobHandler } from "../deliver.ts";
import type { WantedEntry } from "../gateway/config.ts";
import { configureEntries } from "../gateway/configure.ts";
import { openHost } from "../gateway/host.ts";
import { trackingReach } from "../gateway/reach.ts";
import type { RetryPolicy } from "../gateway/retry.ts";
import { findUsableGateway } from "../gateway/send.ts";
import { type GatewayRow, toTarget } from "../gateway/target.ts";
import { enqueueAll, type NewJob } from "../job/job.ts";
import { agents } from "./agent.sql.ts";
import { hostAgentId, workspacePath } from "./host.ts";

/** What an agent's stored settings are laid over. */
export const DEFAULT_HEARTBEAT = { every: "10m", target: "last", includeReasoning: false };

/** Survives a restart of the host. Longer waits, and a host that is away from the start, are left to the job's next attempt. */
const RETRY: RetryPolicy = { total_ms: 20_000, first_ms: 750, max_ms: 5_000, jitter: 0.2 };
/** Milliseconds: longer than a restart takes. */
const FIRST_CONTACT_MS = 1_500;

interface Host {
  gateway_id: string;
  organization_id: string;
}

/**
 * Has the host take over the agents' heartbeat settings, as one job in the transaction that changes them, and none for no
 * agent. `others` are jobs that are stored by the same statement.
 */
export async function enqueueHeartbeatConfig(
  ctx: Context,
  { gateway_id, organization_id }: Host,
  agent_ids: string[],
  others: readonly NewJob[] = [],
): Promise<void> {
  const options = { organization_id, gateway_id, lane: gateway_id };
  const config: NewJob = { kind: "config.heartbeat", payload: { gateway_id, agent_ids }, options };
  await enqueueAll(ctx, [...(agent_ids.length > 0 ? [config] : []), ...others]);
}

/** Writes the settings as they are stored now. Agents that are gone by now are left out. */
export const configureHeartbeats: JobHandler<"config.heartbeat"> = {
  async run(ctx, { gateway_id, agent_ids }) {
    const gateway = await findUsableGateway(ctx, gateway_id);
    const wanted = gateway?.workspace_root.trim() ? await wantedEntries(ctx, gateway, agent_ids) : [];
    if (!gateway || wanted.length === 0) return;
    const left_out = await trackingReach(ctx, gateway, async () => {
      const place = { id: gateway_id, target: toTarget(ctx, gateway) };
      return configureEntries(await openHost(ctx, place, RETRY, { first_contact_ms: FIRST_CONTACT_MS }), wanted);
    });
    if (left_out.length > 0)
      ctx.log.warn("gateway.config_keys_refused", "The host does not take some heartbeat settings", {
        gateway_id,
        keys: left_out,
      });
  },
};

async function wantedEntries(ctx: Context, gateway: GatewayRow, agent_ids: string[]): Promise<WantedEntry[]> {
  const rows = await ctx.db
    .select({ session_key: agents.openclaw_session_id, heartbeat_config: agents.heartbeat_config })
    .from(agents)
    .where(and(inArray(agents.id, agent_ids), eq(agents.gateway_id, gateway.id), isNotNull(agents.openclaw_session_id)))
    .orderBy(asc(agents.created_at), asc(agents.id));
  return rows.map(({ session_key, heartbeat_config }) => {
    const id = hostAgentId(session_key!);
    const heartbeat = { ...DEFAULT_HEARTBEAT, ...heartbeat_config };
    return { id, settings: { workspace: workspacePath(gateway.workspace_root, id), heartbeat } };
  });
}
