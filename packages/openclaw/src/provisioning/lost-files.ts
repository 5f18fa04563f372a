import type { System } from "@board/core/context/actor";
import type { AgentRow } from "@board/core/agent/agent";
import { listPlacedAgents, recordFilesFound, recordFilesLost } from "@board/core/agent/lost-files";
import { forEachConcurrent } from "@board/core/values/concurrency";
import type { Context } from "@board/core/context/context";
import { type GatewayRow, toTarget } from "@board/core/gateway/target";
import { createDeadline } from "../host/deadline.ts";
import { type Host, openHost } from "../host/open.ts";
import { readHostToken } from "../host/workspace.ts";
import { isMissingAgent } from "../wire/failure.ts";
import { GatewayError } from "../wire/gateway-error.ts";
import { toEntryId } from "@board/core/values/session-key";
import { parseToken } from "../template/token-line.ts";

const BUDGET_MS = 10_000;
const CONCURRENCY = 4;

/**
 * Finds agents whose token is no longer on the host. Their workspaces were emptied, so they cannot call this service, and some
 * hosts then answer messages without running the agent. If the host fails, the next probe checks again.
 */
export async function checkAgentFiles(ctx: Context<System>, gateway: GatewayRow): Promise<void> {
  const placed = await listPlacedAgents(ctx, gateway.id);
  if (placed.length === 0) return;
  const found: AgentRow[] = [];
  const lost: AgentRow[] = [];
  try {
    const host = await openHost(ctx, { id: gateway.id, target: toTarget(ctx, gateway) }, createDeadline(BUDGET_MS).policy);
    const check = async (agent: AgentRow) => void ((await hasToken(host, agent)) ? found : lost).push(agent);
    await forEachConcurrent(placed, { max_concurrent: CONCURRENCY, shouldStop: () => false }, check);
  } catch (error) {
    if (!(error instanceof GatewayError)) throw error;
    ctx.log.info("gateway.files_unchecked", "Host did not show the files of its agents", { error: error.message });
  }
  await recordFilesFound(ctx, found);
  await recordFilesLost(ctx, gateway, lost);
}

async function hasToken(host: Host, agent: AgentRow): Promise<boolean> {
  try {
    return (await readHostToken(host, toEntryId(agent), parseToken)) !== null;
  } catch (error) {
    if (isMissingAgent(error)) return false;
    throw error;
  }
}
