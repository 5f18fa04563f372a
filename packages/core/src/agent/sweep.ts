import { and, eq, inArray, lt, type SQL, sql } from "drizzle-orm";
import { newEvents } from "../activity/activity.ts";
import { type Context, transaction } from "../context.ts";
import { changedNow } from "../db/columns.ts";
import { gateways } from "../gateway/gateway.sql.ts";
import { jobs } from "../job/job.sql.ts";
import { agents } from "./agent.sql.ts";
import { OFFLINE_SECONDS } from "./presence.ts";

/** An agent that is being provisioned or updated, and that no job has worked on for so long, is given up. */
const STRANDED_MS = 15 * 60_000;
/** Agents in one transaction. */
const BATCH = 500;

/** Makes those offline that went quiet, and those that nobody works on any more though their state says so. */
export async function sweepAgents(ctx: Context): Promise<void> {
  const before = (ms: number) => new Date(ctx.now().getTime() - ms);
  const isQuiet = and(inArray(agents.status, ["online", "active"]), lt(agents.last_seen_at, before(OFFLINE_SECONDS * 1000)));
  await takeOffline(ctx, isQuiet!, {});
  await takeOffline(ctx, isStranded(before(STRANDED_MS)), {
    previous_status: null,
    wake_attempts: 0,
    checkin_deadline_at: null,
    last_provision_error: "Work on the agent's host was interrupted and is not going on; update the agent with force=true.",
  });
}

/** Both states are entered with a job, and left with its end: without any job in that time there is none to come. */
function isStranded(before: Date): SQL {
  const instant = sql`${before.toISOString()}::timestamptz`;
  return sql`${agents}.status in ('provisioning', 'updating') and ${agents}.created_at < ${instant} and not exists (
    select 1 from ${jobs} where ${jobs}.gateway_id = ${agents}.gateway_id
      and ${jobs}.kind in ('agent.provision', 'agent.update') and ${jobs}.payload ->> 'agent_id' = ${agents}.id::text
      and (${jobs}.status in ('queued', 'running') or ${jobs}.finished_at >= ${instant}))`;
}

async function takeOffline(ctx: Context, which: SQL, values: Partial<typeof agents.$inferInsert>): Promise<void> {
  let taken: number;
  do {
    taken = await transaction(ctx, async (ctx) => {
      const next = ctx.db
        .select({ id: agents.id })
        .from(agents)
        .where(which)
        .limit(BATCH)
        .for("no key update", { skipLocked: true });
      const gone = await ctx.db
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
      if (gone.length > 0)
        await newEvents(
          ctx,
          gone.map(({ name, ...agent }) => toEvent(name, agent)),
        );
      return gone.length;
    });
  } while (taken === BATCH);
}

const toEvent = (name: string, agent: { agent_id: string; board_id: string | null; organization_id: string }) => ({
  event_type: "agent.disconnected" as const,
  ...agent,
  message: `Agent disconnected: ${name}.`,
});
