import { and, eq, isNotNull, sql } from "drizzle-orm";
import type { Context } from "@board/core/context/context";
import { changedNow } from "@board/core/schema/columns";
import { removeDeadJobs, resumeJobsOfGateway } from "@board/core/job/resume";
import { jobs } from "@board/core/schema/job.sql";
import { agents } from "@board/core/schema/agent.sql";
import { toProvisions } from "@board/core/agent/jobs";
import { enqueueAll } from "@board/core/job/job";
import { mintToken } from "@board/core/agent/token";

/**
 * Matches agents that were never provisioned on their present host: they were never woken, or the provisioning job of their
 * generation is dead.
 */
const wasNeverProvisioned = sql`(${agents.last_wake_sent_at} is null or exists (
  select 1 from ${jobs} where ${jobs}.gateway_id = ${agents}.gateway_id and ${jobs}.kind = 'agent.provision'
    and ${jobs}.status = 'dead' and ${jobs}.payload ->> 'agent_id' = ${agents}.id::text
    and (${jobs}.payload ->> 'generation')::int = ${agents}.lifecycle_generation))`;

/**
 * Resumes the work that waited for a gateway's host, in the transaction that records the host as connected. Agents that were
 * never provisioned get a new token, because a dead job's token is erased. Other dead jobs run again. The caller must have locked
 * the gateway.
 */
export async function resumeWorkOfGateway(ctx: Context, gateway: { id: string; organization_id: string }): Promise<void> {
  const owed = await ctx.db
    .update(agents)
    .set({ status: "provisioning", ...changedNow })
    .where(
      and(
        eq(agents.gateway_id, gateway.id),
        eq(agents.status, "offline"),
        isNotNull(agents.last_provision_error),
        isNotNull(agents.openclaw_session_id),
        wasNeverProvisioned,
      ),
    )
    .returning();
  if (owed.length > 0) {
    const ids = owed.map(({ id }) => id);
    await removeDeadJobs(ctx, "agent.provision", ids);
    ctx.log.info("gateway.agents_resumed", "Host is connected; provisioning agents that it never had", {
      gateway_id: gateway.id,
      agents: ids.length,
    });
  }
  const { organization_id } = gateway;
  const provisions = owed.flatMap((agent) =>
    toProvisions(agent, {
      organization_id,
      user_id: null,
      reset: agent.board_id !== null,
      deliver: agent.board_id === null,
      auth_token: mintToken(),
    }),
  );
  await enqueueAll(ctx, provisions);
  await resumeJobsOfGateway(ctx, gateway.id);
}
