import { and, eq, inArray, lt, type SQL, sql } from "drizzle-orm";
import { dailyKey, storeAlerts } from "../alert/alert-job.ts";
import { insertEvents } from "../activity/activity.ts";
import { type Context, transaction } from "../context/context.ts";
import type { Alert } from "../context/alert.ts";
import { changedNow } from "../schema/columns.ts";
import { gateways } from "../schema/gateway.sql.ts";
import { jobs } from "../schema/job.sql.ts";
import { agents } from "../schema/agent.sql.ts";
import { OFFLINE_SECONDS } from "./presence.ts";
import { runWrite } from "../db/prepared-write.ts";

/** A provisioning or updating agent is marked offline when no job has worked on it for this long. */
export const STRANDED_AFTER_MS = 15 * 60_000;
/** Number of agents per transaction. */
const BATCH_SIZE = 500;

/** Marks agents as offline if they went silent, or if they are waiting for a provisioning or update for which no job is left. */
export async function sweepAgents(ctx: Context): Promise<void> {
  const before = (ms: number) => new Date(ctx.now().getTime() - ms);
  const isQuiet = and(inArray(agents.status, ["online", "active"]), lt(agents.last_seen_at, before(OFFLINE_SECONDS * 1000)));
  await markOffline(ctx, isQuiet!, {});
  await markOffline(ctx, isStranded(before(STRANDED_AFTER_MS)), {
    previous_status: null,
    wake_attempts: 0,
    checkin_deadline_at: null,
    last_provision_error: "Work on the agent's host was interrupted and will not resume; update the agent with force=true.",
  });
}

/**
 * Returns a condition on `agents`: whether the agent is provisioning or updating without an open or recent job. Only a job ends
 * these states, so the agent would stay in them.
 */
function isStranded(before: Date): SQL {
  const instant = sql`${before.toISOString()}::timestamptz`;
  return sql`${agents}.status in ('provisioning', 'updating') and ${agents}.created_at < ${instant} and not exists (
    select 1 from ${jobs} where ${jobs}.gateway_id = ${agents}.gateway_id
      and ${jobs}.kind in ('agent.provision', 'agent.update') and ${jobs}.payload ->> 'agent_id' = ${agents}.id::text
      and (${jobs}.status in ('queued', 'running') or ${jobs}.finished_at >= ${instant}))`;
}

async function markOffline(ctx: Context, condition: SQL, values: Partial<typeof agents.$inferInsert>): Promise<void> {
  let count: number;
  do {
    count = await transaction(ctx, async (ctx) => {
      const next = ctx.db
        .select({ id: agents.id })
        .from(agents)
        .where(condition)
        .limit(BATCH_SIZE)
        .for("no key update", { skipLocked: true });
      const updated = await ctx.db
        .update(agents)
        .set({ ...values, status: "offline", ...changedNow })
        .from(gateways)
        .where(and(eq(gateways.id, agents.gateway_id), inArray(agents.id, next)))
        .returning({
          agent_id: agents.id,
          name: agents.name,
          board_id: agents.board_id,
          organization_id: gateways.organization_id,
        });
      if (updated.length === 0) return 0;
      await runWrite(ctx, insertEvents(updated.map(({ name, ...agent }) => toDisconnectedEvent(name, agent))));
      await storeAlerts(
        ctx,
        updated.map((agent) => toSilentAlert(ctx, agent)),
      );
      return updated.length;
    });
  } while (count === BATCH_SIZE);
}

const toSilentAlert = (ctx: Context, { agent_id, board_id, organization_id }: SilentAgent): Alert => ({
  type: "agent.silent",
  organization_id,
  board_id,
  task_id: null,
  subject_id: agent_id,
  key: dailyKey(ctx, "agent.silent", agent_id),
  actor: { type: "agent", id: agent_id },
});

interface SilentAgent {
  agent_id: string;
  board_id: string | null;
  organization_id: string;
}

const toDisconnectedEvent = (name: string, agent: SilentAgent) => ({
  event_type: "agent.disconnected" as const,
  ...agent,
  message: `Agent disconnected: ${name}.`,
});
