import { and, desc, eq, inArray, isNotNull, sql } from "drizzle-orm";
import { type Context, transaction } from "../context/context.ts";
import { changedNow } from "../schema/columns.ts";
import { jobs } from "../schema/job.sql.ts";
import type { AgentRow } from "./agent.ts";
import { agents } from "../schema/agent.sql.ts";
import { enqueueProvision } from "./jobs.ts";
import { isGeneration, lockAgent, recordAgentEvent, updateAgentFields } from "./lifecycle.ts";
import { mintToken } from "./token.ts";

/** How many agents one probe checks. If a host has more, agents whose files were missing come first, then a random sample. */
const MAX_CHECKED = 20;
const LOST = "The agent's files are gone from its host. They are written again if the next probe still misses them.";

const isLost = sql`coalesce(${agents.last_provision_error} = ${LOST}, false)`;

/** Lists agents whose files must be on the host: they have been provisioned, and no waiting job will write their files. */
export function listPlacedAgents(ctx: Context, gateway_id: string): Promise<AgentRow[]> {
  const isBusy = sql`exists (
    select 1 from ${jobs} where ${jobs}.gateway_id = ${agents}.gateway_id and ${jobs}.status in ('queued', 'running')
      and ${jobs}.kind in ('agent.provision', 'agent.update', 'sync.start', 'sync.agent'))`;
  return ctx.db
    .select()
    .from(agents)
    .where(
      and(
        eq(agents.gateway_id, gateway_id),
        inArray(agents.status, ["ready", "online", "active", "offline"]),
        isNotNull(agents.last_wake_sent_at),
        isNotNull(agents.openclaw_session_id),
        sql`not ${isBusy}`,
      ),
    )
    .orderBy(desc(isLost), sql`random()`)
    .limit(MAX_CHECKED);
}

/** Clears the error of agents whose files exist again, for example because a template sync wrote them with new tokens. */
export async function recordFilesFound(ctx: Context, found: readonly AgentRow[]): Promise<void> {
  const ids = found.filter(({ last_provision_error }) => last_provision_error === LOST).map(({ id }) => id);
  if (ids.length === 0) return;
  await ctx.db
    .update(agents)
    .set({ last_provision_error: null, ...changedNow })
    .where(and(inArray(agents.id, ids), isLost));
}

/**
 * Records that the files of these agents are gone. If two probes in a row find them missing, the agents are provisioned again with
 * new tokens. One probe is not enough: a host that is starting or writing its configuration may briefly not list an agent.
 */
export async function recordFilesLost(
  ctx: Context,
  { organization_id }: { organization_id: string },
  lost: readonly AgentRow[],
): Promise<void> {
  for (const { id, lifecycle_generation, last_provision_error } of lost)
    await transaction(ctx, async (ctx) => {
      const agent = await lockAgent(ctx, isGeneration(id, lifecycle_generation));
      if (!agent || agent.last_provision_error !== last_provision_error) return;
      if (last_provision_error === LOST)
        return enqueueProvision(ctx, agent, { organization_id, user_id: null, reset: false, auth_token: mintToken() });
      await updateAgentFields(ctx, agent, { last_provision_error: LOST });
      await recordAgentEvent(ctx, agent, "agent.error", `${agent.name}: the files are gone from the host.`);
      ctx.log.warn("gateway.agent_files_lost", "An agent's files are gone from its host", { agent_id: id });
    });
}
