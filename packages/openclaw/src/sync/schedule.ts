import { and, eq, inArray } from "drizzle-orm";
import { type Context, transaction } from "@board/core/context/context";
import { claimGatewaysDueForSync } from "../gateway/sync-due.ts";
import { startRun } from "./run.ts";
import { syncDefaults } from "./result.ts";
import { sync_runs } from "@board/core/schema/sync.sql";

/** Gateways per transaction. */
const BATCH = 50;

/** Starts a sync of every gateway that is due, except those whose previous scheduled sync is still running. */
export async function startDueSyncs(ctx: Context): Promise<void> {
  let claimed: number;
  do {
    claimed = await transaction(ctx, async (ctx) => {
      const due = await claimGatewaysDueForSync(ctx, BATCH);
      const syncing = await listSyncingGatewayIds(
        ctx,
        due.map(({ id }) => id),
      );
      const options = { ...syncDefaults(), user_id: null };
      for (const gateway of due) if (!syncing.has(gateway.id)) await startRun(ctx, gateway, { cause: "schedule", options });
      return due.length;
    });
  } while (claimed === BATCH);
}

async function listSyncingGatewayIds(ctx: Context, gateway_ids: string[]): Promise<Set<string>> {
  if (gateway_ids.length === 0) return new Set();
  const rows = await ctx.db
    .select({ id: sync_runs.gateway_id })
    .from(sync_runs)
    .where(and(inArray(sync_runs.gateway_id, gateway_ids), eq(sync_runs.cause, "schedule"), eq(sync_runs.status, "running")));
  return new Set(rows.map(({ id }) => id));
}
