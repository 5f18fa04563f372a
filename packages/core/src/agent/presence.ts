import { and, eq, isNotNull, isNull, lte, ne, notInArray, or, sql } from "drizzle-orm";
import { recordEvent } from "../activity/activity.ts";
import { type Context, transaction } from "../context.ts";
import { changedNow } from "../db/columns.ts";
import { type AgentStatus, agents } from "./agent.sql.ts";

/** `last_seen_at` moves at most this often. */
export const PRESENCE_SECONDS = 30;
/** An agent not seen for this long is shown as offline. */
export const OFFLINE_SECONDS = 600;

/** States that a sign of life does not change. */
export const HELD: readonly AgentStatus[] = ["updating", "deleting"];

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
 * Records that an agent was heard from (contract conventions.md §7): one conditional UPDATE, and none at all when nothing
 * would change. It commits by itself, whatever becomes of the request. True when `last_seen_at` moved.
 */
export async function touchPresence(ctx: Context, agent: Presence): Promise<boolean> {
  const now = ctx.now();
  const staleBefore = new Date(now.getTime() - PRESENCE_SECONDS * 1000);
  const comesOnline = agent.status !== "online" && !HELD.includes(agent.status);
  const wakeIsOpen = agent.wake_attempts > 0 || agent.checkin_deadline_at !== null;
  const seenIsStale = agent.last_seen_at === null || agent.last_seen_at <= staleBefore;
  if (!comesOnline && !wakeIsOpen && !seenIsStale) return false;
  const stale = sql`(${agents.last_seen_at} is null or ${agents.last_seen_at} <= ${staleBefore.toISOString()}::timestamptz)`;
  const awake = and(ne(agents.status, "online"), notInArray(agents.status, [...HELD]));
  const write = (ctx: Context) =>
    ctx.db
      .update(agents)
      .set({
        status: sql`case when ${agents.status} in ('updating', 'deleting') then ${agents.status} else 'online' end`,
        last_seen_at: sql`case when ${stale} then ${now.toISOString()}::timestamptz else ${agents.last_seen_at} end`,
        updated_at: sql`case when ${stale} then now() else ${agents.updated_at} end`,
        wake_attempts: 0,
        checkin_deadline_at: null,
        // The end of a wake cycle alone is not shown to anybody.
        change_tx: sql`case when ${stale} or ${awake} then ${changedNow.change_tx} else ${agents.change_tx} end`,
        change_seq: sql`case when ${stale} or ${awake} then ${changedNow.change_seq} else ${agents.change_seq} end`,
      })
      .where(
        and(
          eq(agents.id, agent.agent_id),
          or(
            awake,
            isNull(agents.last_seen_at),
            lte(agents.last_seen_at, staleBefore),
            ne(agents.wake_attempts, 0),
            isNotNull(agents.checkin_deadline_at),
          ),
        ),
      )
      .returning({ last_seen_at: agents.last_seen_at });
  const moved = (rows: { last_seen_at: Date | null }[]) => rows[0]?.last_seen_at?.getTime() === now.getTime();
  if (!comesOnline) return moved(await write(ctx));
  return transaction(ctx, async (ctx) => {
    const before = await ctx.db.select({ status: agents.status }).from(agents).where(eq(agents.id, agent.agent_id)).for("update");
    const written = await write(ctx);
    if (before[0] && before[0].status !== "online" && !HELD.includes(before[0].status))
      await recordEvent(ctx, "agent.connected", {
        organization_id: agent.organization_id,
        board_id: agent.board_id,
        agent_id: agent.agent_id,
        message: `Agent connected: ${agent.name}.`,
      });
    return moved(written);
  });
}

/** The status as it is shown: an agent that went quiet reads as offline, without a write. */
export function shownStatus(agent: { status: AgentStatus; last_seen_at: Date | null }, now: Date): AgentStatus {
  const quiet = agent.last_seen_at !== null && now.getTime() - agent.last_seen_at.getTime() > OFFLINE_SECONDS * 1000;
  return quiet && (agent.status === "online" || agent.status === "active") ? "offline" : agent.status;
}
