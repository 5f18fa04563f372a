import type { Context } from "@board/core/context/context";
import type { GatewayRow } from "@board/core/gateway/target";
import { toSyncError, type SyncQuery, type TemplateSyncResult } from "./result.ts";
import { toResult } from "./run-result.ts";
import { isBoardOfGateway, selectAgents } from "./selection.ts";

const REASON = "pull gateway";

/**
 * Returns the result for a gateway without a host. Its agents have no files, so all of them are skipped, each with the reason.
 */
export async function skipSync(
  ctx: Context,
  gateway: GatewayRow,
  options: SyncQuery & { user_id: string | null },
): Promise<TemplateSyncResult> {
  const facts = { gateway_id: gateway.id, options, errors: [], warnings: [] };
  if (options.board_id !== undefined && !(await isBoardOfGateway(ctx, gateway, options.board_id)))
    return toResult({ ...facts, errors: [toSyncError("Board does not belong to this gateway.")] }, []);
  const { agents } = await selectAgents(ctx, gateway, options);
  const warnings = agents.map(({ id, name }) => ({ agent_id: id, agent_name: name, message: REASON }));
  return { ...toResult({ ...facts, warnings }, []), agents_skipped: agents.length };
}
