import { memoPerApp } from "../context/app-memo.ts";
import type { Agent } from "../context/actor.ts";
import type { Context } from "../context/context.ts";
import { createLimiter } from "../values/concurrency.ts";
import { DomainError } from "../values/errors.ts";
import { usedUp } from "../values/request-limits.ts";
import { errorText } from "../values/log.ts";
import { POLL_MS } from "../stream/hub.ts";
import { hasWork, type InboxRow, readInboxes } from "./read.ts";

/** How many inboxes one statement reads. */
const BATCH_SIZE = 100;
const MAX_CONCURRENT_READS = 2;
const RETRY_SECONDS = 30;

interface Waiter {
  ctx: Context<Agent>;
  max_messages: number;
  /** Ends the wait with the inbox that has work: undefined if the agent was removed, null if the wait ends without work. */
  end: (row: InboxRow | null | undefined) => void;
}

/** The requests in this process that wait for work. Between polls, they hold no database connection. */
const waitersOf = memoPerApp(createWaiters);

/**
 * Waits until the agent has work, `ms` milliseconds have passed or `signal` aborts. Returns the inbox with the work, null if the
 * wait ended without any, and undefined if the agent was removed. A second wait of an agent ends its first.
 */
export const waitForWork = (
  ctx: Context<Agent>,
  options: { ms: number; max_messages: number; signal: AbortSignal },
): Promise<InboxRow | null | undefined> => {
  ctx.releaseSlot?.();
  return waitersOf(ctx).wait(ctx, options);
};

function createWaiters() {
  const waiting = new Map<string, Waiter>();
  const limit = createLimiter(MAX_CONCURRENT_READS);
  let timer: NodeJS.Timeout | undefined;
  let isPolling = false;

  async function poll(): Promise<void> {
    if (isPolling) return;
    isPolling = true;
    const all = [...waiting.values()];
    const batches = Array.from({ length: Math.ceil(all.length / BATCH_SIZE) }, (_, n) =>
      all.slice(n * BATCH_SIZE, (n + 1) * BATCH_SIZE),
    );
    await Promise.all(batches.map((batch) => limit(() => pollBatch(batch)).catch((error) => logFailure(batch[0]!, error))));
    isPolling = false;
  }

  async function pollBatch(batch: readonly Waiter[]): Promise<void> {
    const ids = batch.map(({ ctx }) => ctx.actor.agent_id);
    const rows = new Map((await readInboxes(batch[0]!.ctx, ids)).map((row) => [row.agent_id, row]));
    for (const { ctx, end, max_messages } of batch) {
      const row = rows.get(ctx.actor.agent_id);
      if (!row || hasWork(row)) end(row && { ...row, messages: row.messages.slice(0, max_messages) });
    }
  }

  /** A failed poll is only logged, because the next poll reads the same inboxes again. */
  const logFailure = ({ ctx }: Waiter, error: unknown) => ctx.log.warn("inbox.poll_failed", errorText(error));

  function requireRoom({ actor, settings }: Context<Agent>): void {
    const max = settings.budgets.inbox_waits_per_organization;
    if (max === 0) return;
    const open = [...waiting.values()].filter(({ ctx }) => ctx.actor.organization_id === actor.organization_id).length;
    if (open >= max)
      throw new DomainError(
        "limited",
        "Too many agents of this organization are waiting for work. Omit `wait` or try again later.",
        {
          retry_after_seconds: RETRY_SECONDS,
          limit: usedUp("inbox_waits_per_organization", max, RETRY_SECONDS),
        },
      );
  }

  function wait(
    ctx: Context<Agent>,
    { ms, max_messages, signal }: { ms: number; max_messages: number; signal: AbortSignal },
  ): Promise<InboxRow | null | undefined> {
    const { agent_id } = ctx.actor;
    waiting.get(agent_id)?.end(null);
    if (signal.aborted) return Promise.resolve(null);
    requireRoom(ctx);
    const { promise, resolve } = Promise.withResolvers<InboxRow | null | undefined>();
    const stop = () => waiter.end(null);
    const deadline = setTimeout(stop, ms);
    const waiter: Waiter = {
      ctx,
      max_messages,
      end(row) {
        clearTimeout(deadline);
        signal.removeEventListener("abort", stop);
        if (waiting.get(agent_id) === waiter) waiting.delete(agent_id);
        if (waiting.size === 0) clearInterval(timer);
        resolve(row);
      },
    };
    if (waiting.size === 0) timer = setInterval(() => void poll(), POLL_MS).unref();
    waiting.set(agent_id, waiter);
    signal.addEventListener("abort", stop);
    return promise;
  }

  return { wait };
}
