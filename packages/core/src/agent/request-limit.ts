import type { Agent } from "../context/actor.ts";
import { memoPerApp } from "../context/app-memo.ts";
import type { Context } from "../context/context.ts";
import { incrementCounter, reportMinuteLimit, rateLimited, startOfMinute } from "../db/rate-limit.ts";

/** The requests of an agent in this clock minute, as far as this process knows. */
interface Count {
  /** Requests in this process, plus the requests in other processes at the last exchange with the shared counter. */
  total: number;
  /** Requests in this process that were not yet added to the shared counter. */
  unshared: number;
}

const countsOf = memoPerApp(() => ({ minute: 0, of: new Map<string, Count>() }));

/**
 * A process adds its requests to the shared counter each time they reach a tenth of the limit. So most requests need no statement.
 */
const PARTS = 10;

/**
 * Counts a request of an agent that has a limit, and throws `limited` beyond it (docs/reference/agents.md#request-limit). Processes
 * exchange their counts in tenths of the limit, so each process may accept up to a tenth too many.
 */
export async function limitRequests(ctx: Context, agent: Agent): Promise<void> {
  const { agent_id, requests_per_minute: limit } = agent;
  if (limit === null) return;
  const count = countOf(ctx, agent_id);
  if (count.total < limit) {
    count.total += 1;
    count.unshared += 1;
    const used = count.unshared * PARTS >= limit ? await shareCount(ctx, agent_id, count) : count.total;
    reportMinuteLimit(ctx, "requests_per_minute", limit, used);
    if (used <= limit) return;
  }
  reportMinuteLimit(ctx, "requests_per_minute", limit, limit);
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

/** Adds this process's new requests to the shared counter and returns the counter's value. */
async function shareCount(ctx: Context, agent_id: string, count: Count): Promise<number> {
  const by = count.unshared;
  count.unshared = 0;
  const shared = await incrementCounter(ctx, "agent", agent_id, by);
  count.total = Math.max(count.total, shared + count.unshared);
  return shared;
}
