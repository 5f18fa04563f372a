import { eq } from "drizzle-orm";
import { recordLateEvent } from "@board/core/activity/activity";
import type { Context } from "@board/core/context/context";
import type { JobHandler } from "@board/core/job/handler";
import type { GatewayTarget } from "@board/core/context/gateways";
import { removeEntry } from "../host/entries.ts";
import { gateways } from "@board/core/schema/gateway.sql";
import { openReachableHost } from "../host/open.ts";
import { trackConnectivity } from "./connectivity.ts";
import { type RetryPolicy, SYNC_RETRY } from "../wire/retry.ts";
import { toTarget, findUsableGateway } from "@board/core/gateway/target";
import { agents } from "@board/core/schema/agent.sql";

/**
 * The time limit is long enough for a restart of the host and for concurrent config writes. If the host stays unreachable, the
 * job's next attempt tries again.
 */
const CLEANUP_RETRY: RetryPolicy = { ...SYNC_RETRY, total_ms: 30_000, max_ms: 5_000 };

/** Removes an agent with its files and its session from the host. */
export const cleanUpAgent: JobHandler<"agent.cleanup"> = {
  async run(ctx, { gateway_id, session_key }, { secret }) {
    const gateway = secret ? null : await findUsableGateway(ctx, gateway_id);
    const target = secret ? (JSON.parse(secret) as GatewayTarget) : gateway && toTarget(ctx, gateway);
    if (!target || (await hasSuccessor(ctx, { gateway_id, session_key, url: target.url }))) return;
    const remove = async () => {
      await removeEntry(await openReachableHost(ctx, { id: gateway_id, target }, CLEANUP_RETRY), session_key);
    };
    await (gateway ? trackConnectivity(ctx, gateway, remove) : remove());
  },
  async onDead(ctx, { organization_id, board_id, agent_name }, reason) {
    const event = { organization_id, board_id, message: `Removing agent ${agent_name} from its host failed: ${reason}` };
    await recordLateEvent(ctx, "agent.delete.failed", event);
    await recordLateEvent(ctx, "agent.error", event);
  },
};

/**
 * Returns whether another agent now uses the host entry: an agent with the same session key that was created later, or that moved
 * between gateways of the same host.
 */
async function hasSuccessor(ctx: Context, removed: { gateway_id: string; session_key: string; url: string }): Promise<boolean> {
  const [successor] = await ctx.db
    .select({ gateway_id: gateways.id, url: gateways.url })
    .from(agents)
    .innerJoin(gateways, eq(gateways.id, agents.gateway_id))
    .where(eq(agents.openclaw_session_id, removed.session_key));
  return successor !== undefined && (successor.gateway_id === removed.gateway_id || successor.url.trim() === removed.url.trim());
}
