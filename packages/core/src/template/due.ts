import { and, eq, inArray } from "drizzle-orm";
import { type Context, transaction } from "../context.ts";
import { takeDueForSync } from "../gateway/sync-due.ts";
import { startRun } from "./run.ts";
import { SYNC_DEFAULTS } from "./sync-result.ts";
import { sync_runs } from "./sync.sql.ts";

/** Gateways in one transaction. */
const BATCH = 50;

/** Begins a sync of every gateway that is due. One whose last scheduled sync is still going on is left out this time. */
export async function startDueSyncs(ctx: Context): Promise<void> {
  let taken: number;
  do {
    taken = await transaction(ctx, async (ctx) => {
      const due = await takeDueForSync(ctx, BATCH);
      const busy = await findBusy(
        ctx,
        due.map(({ id }) => id),
      );
      const options = { ...SYNC_DEFAULTS, user_id: null };
      for (const gateway of due) if (!busy.has(gateway.id)) await startRun(ctx, gateway, { cause: "schedule", options });
      return due.length;
    });
  } while (taken === BATCH);
}

async function findBusy(ctx: Context, gateway_ids: string[]): Promise<Set<string>> {
  if (gateway_ids.length === 0) return new Set();
  const rows = await ctx.db
    .select({ id: sync_runs.gateway_id })
    .from(sync_runs)
    .where(and(inArray(sync_runs.gateway_id, gateway_ids), eq(sync_runs.cause, "schedule"), eq(sync_runs.status, "running")));
  return new Set(rows.map(({ id }) => id));
}
