import { setTimeout as pause } from "node:timers/promises";
import { eq } from "drizzle-orm";
import { recordLateEvent } from "../activity/activity.ts";
import type { Context } from "../context.ts";
import type { JobHandler } from "../deliver.ts";
import { GatewayError, type GatewayTarget } from "../gateway/client.ts";
import { isMissingAgent, isMissingSession } from "../gateway/failure.ts";
import { findUsableGateway } from "../gateway/send.ts";
import { type GatewayRow, toTarget } from "../gateway/target.ts";
import { enqueue, sealIntoJobs } from "../job/job.ts";
import { agents } from "./agent.sql.ts";
import { hostAgentId, hostLane } from "./host.ts";

/** A run that is being aborted needs this long to end: deleting its agent meanwhile kills some hosts. */
const ABORT_MS = 5_000;

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

/** Aborts what runs, removes the agent with its files, then its session. What is not there any more is fine. */
export const cleanUpAgent: JobHandler<"agent.cleanup"> = {
  async run(ctx, { gateway_id, session_key }, { secret }) {
    const gateway = secret ? null : await findUsableGateway(ctx, gateway_id);
    const target = secret ? (JSON.parse(secret) as GatewayTarget) : gateway && toTarget(ctx, gateway);
    if (!target) return;
    // An agent of the same key may have been made since: the entry on the host is its now.
    const [successor] = await ctx.db.select({ id: agents.id }).from(agents).where(eq(agents.openclaw_session_id, session_key));
    if (successor) return;
    const call = (method: string, params: object) => ctx.gateways.request(target, method, params);
    await unlessMissing(() => call("chat.abort", { sessionKey: session_key }));
    await pause(ABORT_MS);
    await unlessMissing(() => call("agents.delete", { agentId: hostAgentId(session_key), deleteFiles: true }));
    await unlessMissing(() => call("sessions.delete", { key: session_key }));
  },
  async failed(ctx, { organization_id, board_id, agent_name }, reason) {
    const event = { organization_id, board_id, message: `Removing agent ${agent_name} from its host failed: ${reason}` };
    await recordLateEvent(ctx, "agent.delete.failed", event);
    await recordLateEvent(ctx, "agent.error", event);
  },
};

async function unlessMissing(work: () => Promise<unknown>): Promise<void> {
  try {
    await work();
  } catch (error) {
    const kept = error instanceof GatewayError && /cannot delete the main session/i.test(error.message);
    if (!kept && !isMissingAgent(error) && !isMissingSession(error)) throw error;
  }
}
