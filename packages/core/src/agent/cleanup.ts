import { eq } from "drizzle-orm";
import { recordLateEvent } from "../activity/activity.ts";
import type { Context } from "../context.ts";
import type { JobHandler } from "../deliver.ts";
import type { GatewayTarget } from "../gateway/client.ts";
import { removeEntry } from "../gateway/entries.ts";
import { gateways } from "../gateway/gateway.sql.ts";
import { openHost } from "../gateway/host.ts";
import { trackingReach } from "../gateway/reach.ts";
import type { RetryPolicy } from "../gateway/retry.ts";
import { findUsableGateway } from "../gateway/send.ts";
import { type GatewayRow, toTarget } from "../gateway/target.ts";
import { enqueue, sealIntoJobs } from "../job/job.ts";
import { agents } from "./agent.sql.ts";
import { hostLane } from "./host.ts";

/** Survives a restart of the host, and others who write to its configuration. A host that is away is left to the next attempt. */
const RETRY: RetryPolicy = { total_ms: 30_000, first_ms: 750, max_ms: 5_000, jitter: 0.2 };

interface Removed {
  name: string;
  board_id: string | null;
  openclaw_session_id: string | null;
}

/**
 * Has the host forget an agent, as a job in the transaction that removes its row. `gateway_stays` false seals the
 * connection into the job, for a gateway that is removed in the same transaction.
 */
export async function enqueueCleanup(
  ctx: Context,
  gateway: GatewayRow,
  agent: Removed,
  { gateway_stays }: { gateway_stays: boolean },
): Promise<void> {
  const session_key = agent.openclaw_session_id;
  if (!session_key || !gateway.url.trim()) return;
  const { id: gateway_id, organization_id } = gateway;
  const payload = { gateway_id, session_key, agent_name: agent.name, organization_id, board_id: agent.board_id };
  await enqueue(ctx, "agent.cleanup", payload, {
    organization_id,
    lane: hostLane(gateway_id, session_key),
    ...(gateway_stays ? { gateway_id } : { secret: connectionOf(ctx, gateway) }),
  });
}

/**
 * The same for all agents that go with their gateway, in the transaction that removes it. Clean-ups that wait from before
 * get the connection too: without it they would find no gateway and leave their agent on the host.
 */
export async function enqueueCleanups(ctx: Context, gateway: GatewayRow, removed: readonly Removed[]): Promise<void> {
  await sealIntoJobs(ctx, "agent.cleanup", gateway.id, connectionOf(ctx, gateway));
  for (const agent of removed) await enqueueCleanup(ctx, gateway, agent, { gateway_stays: false });
}

const connectionOf = (ctx: Context, gateway: GatewayRow) => JSON.stringify(toTarget(ctx, gateway));

/** Removes the agent with its files and its session from the host, one agent at a time where hosts need it. */
export const cleanUpAgent: JobHandler<"agent.cleanup"> = {
  async run(ctx, { gateway_id, session_key }, { secret }) {
    const gateway = secret ? null : await findUsableGateway(ctx, gateway_id);
    const target = secret ? (JSON.parse(secret) as GatewayTarget) : gateway && toTarget(ctx, gateway);
    if (!target || (await hasSuccessor(ctx, { gateway_id, session_key, url: target.url }))) return;
    const remove = async () => {
      await ctx.gateways.hello(target);
      await removeEntry(await openHost(ctx, { id: gateway_id, target }, RETRY), session_key);
    };
    await (gateway ? trackingReach(ctx, gateway, remove) : remove());
  },
  async failed(ctx, { organization_id, board_id, agent_name }, reason) {
    const event = { organization_id, board_id, message: `Removing agent ${agent_name} from its host failed: ${reason}` };
    await recordLateEvent(ctx, "agent.delete.failed", event);
    await recordLateEvent(ctx, "agent.error", event);
  },
};

/**
 * An agent of the same key may have been made since, or have moved between gateways of one host: the entry there is its
 * own now. One that lives on another host leaves this entry to be removed.
 */
async function hasSuccessor(ctx: Context, left: { gateway_id: string; session_key: string; url: string }): Promise<boolean> {
  const [successor] = await ctx.db
    .select({ gateway_id: gateways.id, url: gateways.url })
    .from(agents)
    .innerJoin(gateways, eq(gateways.id, agents.gateway_id))
    .where(eq(agents.openclaw_session_id, left.session_key));
  return successor !== undefined && (successor.gateway_id === left.gateway_id || successor.url.trim() === left.url.trim());
}
