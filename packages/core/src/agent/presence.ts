import { and, eq, inArray, isNotNull, isNull, lte, ne, notInArray, or, sql } from "drizzle-orm";
import { recordEvent } from "../activity/activity.ts";
import { type Context, transaction } from "../context/context.ts";
import { actingAs } from "../db/change-actor.ts";
import { changedNow } from "../schema/columns.ts";
import { type AgentStatus, agents } from "../schema/agent.sql.ts";

/** `last_seen_at` is updated at most once in this many seconds. */
export const PRESENCE_SECONDS = 30;
/** Seconds without a request after which an agent is shown as offline. */
export const OFFLINE_SECONDS = 600;

/** Statuses that stay the same when the agent makes a request. */
export const PRESENCE_EXEMPT_STATUSES: readonly AgentStatus[] = ["updating", "deleting"];

interface Presence {
  agent_id: string;
  name: string;
  organization_id: string;
  board_id: string | null;
  status: AgentStatus;
  last_seen_at: Date | null;
  wake_attempts: number;
  checkin_deadline_at: Date | null;
}

/**
 * Records that an agent was seen (docs/reference/conventions.md#presence). Sends no statement if nothing would change. The record
 * stays even if the request fails later. Returns whether `last_seen_at` was updated.
 */
export async function touchPresence(ctx: Context, agent: Presence): Promise<boolean> {
  const now = ctx.now();
  const staleBefore = new Date(now.getTime() - PRESENCE_SECONDS * 1000);
  const becomesOnline = agent.status !== "online" && !PRESENCE_EXEMPT_STATUSES.includes(agent.status);
  const hasOpenWake = agent.wake_attempts > 0 || agent.checkin_deadline_at !== null;
  if (!becomesOnline && !hasOpenWake && !isSeenStale(agent, now)) return false;
  const stale = sql`(${agents.last_seen_at} is null or ${agents.last_seen_at} <= ${staleBefore.toISOString()}::timestamptz)`;
  const isExempt = inArray(agents.status, [...PRESENCE_EXEMPT_STATUSES]);
  const isOffline = and(ne(agents.status, "online"), notInArray(agents.status, [...PRESENCE_EXEMPT_STATUSES]));
  const write = (ctx: Context) =>
    ctx.db
      .update(agents)
      .set({
        status: sql`case when ${isExempt} then ${agents.status} else 'online' end`,
        last_seen_at: sql`case when ${stale} then ${now.toISOString()}::timestamptz else ${agents.last_seen_at} end`,
        updated_at: sql`case when ${stale} then now() else ${agents.updated_at} end`,
        wake_attempts: 0,
        checkin_deadline_at: null,
        // Clients cannot see the end of a wake cycle. So an update that only ends a wake cycle adds no entry to the change feed.
        change_tx: sql`case when ${stale} or ${isOffline} then ${changedNow.change_tx} else ${agents.change_tx} end`,
        change_seq: sql`case when ${stale} or ${isOffline} then ${changedNow.change_seq} else ${agents.change_seq} end`,
      })
      .where(
        and(
          eq(agents.id, agent.agent_id),
          actingAs({ actor: { type: "agent", agent_id: agent.agent_id }, settings: ctx.settings }),
          or(
            isOffline,
            isNull(agents.last_seen_at),
            lte(agents.last_seen_at, staleBefore),
            ne(agents.wake_attempts, 0),
            isNotNull(agents.checkin_deadline_at),
          ),
        ),
      )
      .returning({ last_seen_at: agents.last_seen_at });
  const wasUpdated = (rows: { last_seen_at: Date | null }[]) => rows[0]?.last_seen_at?.getTime() === now.getTime();
  if (!becomesOnline) return wasUpdated(await write(ctx));
  return transaction(ctx, async (ctx) => {
    const before = await ctx.db.select({ status: agents.status }).from(agents).where(eq(agents.id, agent.agent_id)).for("update");
    const written = await write(ctx);
    if (before[0] && before[0].status !== "online" && !PRESENCE_EXEMPT_STATUSES.includes(before[0].status))
      await recordEvent(ctx, "agent.connected", {
        organization_id: agent.organization_id,
        board_id: agent.board_id,
        agent_id: agent.agent_id,
        message: `Agent connected: ${agent.name}.`,
      });
    return wasUpdated(written);
  });
}

/** Returns whether `last_seen_at` is old enough to be updated. */
export const isSeenStale = ({ last_seen_at }: { last_seen_at: Date | null }, now: Date): boolean =>
  last_seen_at === null || now.getTime() - last_seen_at.getTime() >= PRESENCE_SECONDS * 1000;

/** Returns the status that clients see: a silent agent is shown as offline even before the sweep has stored that status. */
export function displayStatus(agent: { status: AgentStatus; last_seen_at: Date | null }, now: Date): AgentStatus {
  const isQuiet = agent.last_seen_at !== null && now.getTime() - agent.last_seen_at.getTime() > OFFLINE_SECONDS * 1000;
  return isQuiet && (agent.status === "online" || agent.status === "active") ? "offline" : agent.status;
}
