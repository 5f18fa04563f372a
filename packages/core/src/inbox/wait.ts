import { randomUUID } from "node:crypto";
import { memoPerApp } from "../context/app-memo.ts";
import type { Agent } from "../context/actor.ts";
import type { Context } from "../context/context.ts";
import { createLimiter } from "../values/concurrency.ts";
import { errorText } from "../values/log.ts";
import { POLL_MS } from "../stream/hub.ts";
import { listReplacedIds, isShared, removeWait, storeWait, tooManyWaits } from "./shared-waits.ts";
import { hasWork, type InboxRow, readInboxes } from "./read.ts";
import { chunk } from "../values/chunk.ts";

/** How many inboxes one statement reads. */
const BATCH_SIZE = 100;
const MAX_CONCURRENT_READS = 2;

interface Waiter {
  /** Identifies the wait among the waits of all processes. */
  id: string;
  ctx: Context<Agent>;
  max_messages: number;
  /**
   * Ends the wait with the inbox that has work. Null means that the wait ended without work, undefined that the agent was removed.
   */
  end: (row: InboxRow | null | undefined) => void;
}

/** The requests in this process that are waiting for work. Between polls, they hold no database connection. */
const waitersOf = memoPerApp(createWaiters);

/**
 * Reads the waiting inboxes of these organizations now. The call only makes the answers faster, because the timer polls the
 * inboxes anyway.
 */
export const pollWaits = (ctx: Context, organizations: ReadonlySet<string>): void => waitersOf(ctx).pollSoon(organizations);

/**
 * Waits until the agent has work, `ms` milliseconds have passed or `signal` aborts. Returns the inbox with the work, null if the
 * wait ended without work, or undefined if the agent was removed. A second wait of an agent ends the first.
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
  /** Organizations whose inboxes changed during a poll, which may have read them before the change. */
  let changed = new Set<string>();

  async function poll(all = [...waiting.values()]): Promise<void> {
    if (isPolling) return;
    isPolling = true;
    await Promise.all(
      chunk(all, BATCH_SIZE).map((batch) => limit(() => pollBatch(batch)).catch((error) => logFailure(batch[0]!, error))),
    );
    isPolling = false;
    if (changed.size > 0) void pollChanged();
  }

  /** Polls the inboxes of the changed organizations, now or after the poll that is in progress. */
  async function pollChanged(): Promise<void> {
    if (isPolling) return;
    const organizations = changed;
    changed = new Set();
    const hinted = [...waiting.values()].filter(({ ctx }) => organizations.has(ctx.actor.organization_id));
    if (hinted.length > 0) await poll(hinted);
  }

  async function pollBatch(batch: readonly Waiter[]): Promise<void> {
    const ids = batch.map(({ ctx }) => ctx.actor.agent_id);
    const { ctx: first } = batch[0]!;
    const rows = new Map((await readInboxes(first, ids)).map((row) => [row.agent_id, row]));
    const replaced = new Set(isShared(first) ? await listReplacedIds(first, batch) : []);
    for (const { id, ctx, end, max_messages } of batch) {
      if (replaced.has(id)) {
        end(null);
        continue;
      }
      const row = rows.get(ctx.actor.agent_id);
      if (!row || hasWork(row)) end(row && { ...row, messages: row.messages.slice(0, max_messages) });
    }
  }

  /** Only logs that a poll failed, because the next poll reads the same inboxes again. */
  const logFailure = ({ ctx }: Waiter, error: unknown) => ctx.log.warn("inbox.poll_failed", errorText(error));

  function requireRoom({ actor, settings }: Context<Agent>): void {
    const max = settings.budgets.inbox_waits_per_organization;
    const open = [...waiting.values()].filter(({ ctx }) => ctx.actor.organization_id === actor.organization_id).length;
    if (max > 0 && open >= max) throw tooManyWaits(max);
  }

  async function wait(
    ctx: Context<Agent>,
    { ms, max_messages, signal }: { ms: number; max_messages: number; signal: AbortSignal },
  ): Promise<InboxRow | null | undefined> {
    const { agent_id } = ctx.actor;
    waiting.get(agent_id)?.end(null);
    if (signal.aborted) return null;
    const id = randomUUID();
    if (isShared(ctx)) await storeWait(ctx, { id, ms });
    else requireRoom(ctx);
    // This also ends a wait that another request of the agent started in the meantime.
    waiting.get(agent_id)?.end(null);
    const { promise, resolve } = Promise.withResolvers<InboxRow | null | undefined>();
    const stop = () => waiter.end(null);
    const deadline = setTimeout(stop, ms);
    const waiter: Waiter = {
      id,
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
    if (signal.aborted) stop();
    const row = await promise;
    if (isShared(ctx)) await removeWait(ctx, id);
    return row;
  }

  return {
    wait,
    pollSoon(organizations: ReadonlySet<string>) {
      for (const id of organizations) changed.add(id);
      void pollChanged();
    },
  };
}
