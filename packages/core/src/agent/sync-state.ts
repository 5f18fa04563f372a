import { and, eq, isNotNull, or, sql } from "drizzle-orm";
import type { Context } from "../context/context.ts";
import { changedNow } from "../schema/columns.ts";
import { agents } from "../schema/agent.sql.ts";

/**
 * Records that a sync has written the files of these agents. Agents that were provisioning become ready, and errors are cleared.
 * Agents with a later generation do not change.
 */
export async function markSynced(
  ctx: Context,
  gateway_id: string,
  synced: readonly { id: string; lifecycle_generation: number }[],
): Promise<void> {
  if (synced.length === 0) return;
  const generations = JSON.stringify(synced.map(({ id, lifecycle_generation }) => ({ id, lifecycle_generation })));
  const isSynced = sql`(${agents.id}, ${agents.lifecycle_generation}) in (
    select id, lifecycle_generation from jsonb_to_recordset(${generations}::jsonb) as synced(id uuid, lifecycle_generation int))`;
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
