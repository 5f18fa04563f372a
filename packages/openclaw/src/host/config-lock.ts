import { setTimeout as pause } from "node:timers/promises";
import { and, eq, lt, type SQL, sql } from "drizzle-orm";
import { type Context, isInTransaction } from "@board/core/context/context";
import { undoIfConnectionLost, withDatabaseRetry } from "@board/core/db/retry-unavailable";
import { errorText } from "@board/core/values/log";
import { GatewayError } from "../wire/gateway-error.ts";
import { gateways } from "@board/core/schema/gateway.sql";
import { host_turns } from "@board/core/schema/config-lock.sql";

/** A holder that does not renew its lease within this time loses the lock. The lease is renewed every third of this time. */
const LEASE_MS = 60_000;
/** Shortest wait between two attempts to acquire the lock. A random delay up to the same length is added. */
const POLL_MS = 100;
/** How long the release is tried again while the database is unavailable. All other writers would wait until the lock expires. */
const RELEASE_MS = 2_000;

interface ConfigLock {
  /**
   * Releases the lock. The next holder starts `spacing_ms` later. Never rejects, because a lock that cannot be released expires.
   */
  release(spacing_ms: number): Promise<void>;
}

/**
 * Acquires the lock for writing to a host's configuration (docs/reference/gateways.md#config-lock). One process at a time holds
 * the lock, and its lease expires by the database's clock. Neither waiting for the lock nor holding it occupies a database
 * connection. Rejects with a GatewayError after `wait_ms`.
 */
export async function acquireConfigLock(
  ctx: Context,
  gateway_id: string,
  { wait_ms, signal, lease_ms = LEASE_MS }: { wait_ms: number; signal?: AbortSignal | undefined; lease_ms?: number },
): Promise<ConfigLock> {
  if (isInTransaction(ctx)) throw new Error("The config lock must not be acquired inside a transaction");
  const holder = crypto.randomUUID();
  const ownLock = and(eq(host_turns.gateway_id, gateway_id), eq(host_turns.holder, holder))!;
  const release = (spacing_ms: number) => {
    const released = { holder: null, held_until: fromDatabaseNow(0), free_at: fromDatabaseNow(spacing_ms) };
    return ctx.db.update(host_turns).set(released).where(ownLock);
  };
  const acquire = () => tryAcquire(ctx, { gateway_id, holder, held_until: fromDatabaseNow(lease_ms) });
  const deadline = performance.now() + wait_ms;
  while (!(await undoIfConnectionLost(acquire, () => release(0)))) {
    const remaining_ms = deadline - performance.now();
    if (remaining_ms <= 0) throw createConfigLockBusy(wait_ms);
    await pause(Math.min(POLL_MS * (1 + Math.random()), remaining_ms), undefined, signal ? { signal } : {});
  }
  const renewal = setInterval(() => void renewConfigLock(ctx, ownLock, gateway_id, lease_ms), lease_ms / 3).unref();
  return {
    async release(spacing_ms) {
      clearInterval(renewal);
      await withDatabaseRetry(() => release(spacing_ms), RELEASE_MS).catch((error: unknown) =>
        ctx.log.warn("gateway.config_lock_not_released", errorText(error), { gateway_id }),
      );
    },
  };
}

/** Deletes the locks of removed gateways. A cleanup job that still needs such a lock creates the row again. */
export async function removeOldConfigLocks(ctx: Context): Promise<void> {
  const orphaned = sql`not exists (select 1 from ${gateways} where ${gateways}.id = ${host_turns}.gateway_id)`;
  await ctx.db
    .delete(host_turns)
    .where(and(orphaned, lt(host_turns.held_until, fromDatabaseNow(0)), lt(host_turns.free_at, fromDatabaseNow(0))));
}

/**
 * Returns a time by the database's clock, which all processes share. It is truncated, because a column of whole milliseconds could
 * round it up to a time in the future.
 */
const fromDatabaseNow = (ms: number): SQL =>
  sql`date_trunc('milliseconds', clock_timestamp()) + make_interval(secs => ${ms / 1000}::double precision)`;

/**
 * Tries to acquire the lock in one statement, which inserts the gateway's row, or updates it if the lock is free and the pause has
 * passed.
 */
async function tryAcquire(ctx: Context, lock: { gateway_id: string; holder: string; held_until: SQL }): Promise<boolean> {
  const { holder, held_until } = lock;
  const acquired = await ctx.db
    .insert(host_turns)
    .values({ ...lock, free_at: fromDatabaseNow(0) })
    .onConflictDoUpdate({
      target: host_turns.gateway_id,
      set: { holder, held_until },
      setWhere: sql`(${host_turns}.holder is null or ${host_turns}.held_until < clock_timestamp()) and ${host_turns}.free_at <= clock_timestamp()`,
    })
    .returning({ holder: host_turns.holder });
  return acquired.length > 0;
}

async function renewConfigLock(ctx: Context, ownLock: SQL, gateway_id: string, lease_ms: number): Promise<void> {
  await ctx.db
    .update(host_turns)
    .set({ held_until: fromDatabaseNow(lease_ms) })
    .where(ownLock)
    .catch((error: unknown) => ctx.log.warn("gateway.config_lock_not_renewed", errorText(error), { gateway_id }));
}

/** Creates the error of an attempt that waited too long for the lock. It is retryable, because the work itself has not failed. */
export function createConfigLockBusy(waited_ms: number): GatewayError {
  const text = `The host's configuration is busy: other jobs have been writing to it for ${Math.round(waited_ms / 1000)} s.`;
  return new GatewayError(text, { waiting: true, retryable: true });
}
