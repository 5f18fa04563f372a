import { and, eq, isNotNull, or, sql } from "drizzle-orm";
import type { Context } from "../context.ts";
import { changedNow } from "../db/columns.ts";
import { agents } from "./agent.sql.ts";

/**
 * The files of these agents are on their host: one that was being provisioned is ready, and what had failed is mended.
 * Nothing else of an agent follows from a sync. Those that lead another life by now are left alone.
 */
export async function recordSynced(
  ctx: Context,
  gateway_id: string,
  synced: readonly { id: string; lifecycle_generation: number }[],
): Promise<void> {
  if (synced.length === 0) return;
  const lives = JSON.stringify(synced.map(({ id, lifecycle_generation }) => ({ id, lifecycle_generation })));
  const isSynced = sql`(${agents.id}, ${agents.lifecycle_generation}) in (
    select id, lifecycle_generation from jsonb_to_recordset(${lives}::jsonb) as life(id uuid, lifecycle_generation int))`;
  await ctx.db
    .update(agents)
    .set({
      status: sql`case when ${agents.status} = 'provisioning' then 'ready' else ${agents.status} end`,
      last_provision_error: null,
      ...changedNow,
    })
    .where(
      and(
        isSynced,
        eq(agents.gateway_id, gateway_id),
        or(eq(agents.status, "provisioning"), isNotNull(agents.last_provision_error)),
      ),
    );
}
