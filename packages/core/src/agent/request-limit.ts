import type { Agent } from "../context/actor.ts";
import { memoPerApp } from "../context/app-memo.ts";
import type { Context } from "../context/context.ts";
import { incrementCounter, noteMinuteLimit, rateLimited, startOfMinute } from "../db/rate-limit.ts";

/** The requests of an agent in this clock minute, as far as this process knows. */
interface Count {
  /** Its requests here, and those of other processes when the shared counter was last increased. */
  total: number;
  /** Requests here that the shared counter does not have yet. */
  unshared: number;
}

const countsOf = memoPerApp(() => ({ minute: 0, of: new Map<string, Count>() }));

/** The shared counter gets requests in parts of the limit, so that most requests need no statement. */
const PARTS = 10;

/**
 * Counts a request of an agent with a limit, and refuses it when it is over the limit. Each process may let through a tenth
 * of the limit too much, because it learns of the requests to others only then (docs/reference/agents.md#request-limit).
 */
export async function limitRequests(ctx: Context, agent: Agent): Promise<void> {
  const { agent_id, requests_per_minute: limit } = agent;
  if (limit === null) return;
  const count = countOf(ctx, agent_id);
  if (count.total < limit) {
    count.total += 1;
    count.unshared += 1;
    const used = count.unshared * PARTS >= limit ? await shareCount(ctx, agent_id, count) : count.total;
    noteMinuteLimit(ctx, "requests_per_minute", limit, used);
    if (used <= limit) return;
  }
  noteMinuteLimit(ctx, "requests_per_minute", limit, limit);
  throw rateLimited(ctx);
}

function countOf(ctx: Context, agent_id: string): Count {
  const counts = countsOf(ctx);
  const minute = startOfMinute(ctx.now()).getTime();
  if (counts.minute !== minute) Object.assign(counts, { minute, of: new Map() });
  const count = counts.of.get(agent_id) ?? { total: 0, unshared: 0 };
  counts.of.set(agent_id, count);
  return count;
}

/** Adds what was counted here to the counter of all processes, and returns the sum. */
async function shareCount(ctx: Context, agent_id: string, count: Count): Promise<number> {
  const by = count.unshared;
  count.unshared = 0;
  const shared = await incrementCounter(ctx, "agent", agent_id, by);
  count.total = Math.max(count.total, shared + count.unshared);
  return shared;
}
