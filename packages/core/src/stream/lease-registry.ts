import { randomUUID } from "node:crypto";
import { and, eq, inArray, lt, or, type SQL, sql } from "drizzle-orm";
import { type Context, transaction } from "../context/context.ts";
import { isProcessRemoved, isStreamCounted } from "../process/presence.ts";
import { errorText } from "../values/log.ts";
import { type AddedStream, admitStream } from "./admission.ts";
import { stream_leases } from "../schema/stream-lease.sql.ts";
import type { StreamRegistry } from "./registry.ts";

/**
 * How often a process checks whether its streams were replaced. The interval is long, because on AWS each stream has its own
 * process, which sends its own query.
 */
const LEASE_CHECK_MS = 5_000;
/** How long a lease outlives the longest possible stream, so that only leases of crashed processes expire. */
const GRACE_SECONDS = 30;

interface LeaseRegistryOptions {
  /** The time limit of a stream in seconds. Leases are not renewed. */
  max_seconds: number;
  /** The process that keeps the leases alive while it is running. Its streams then need no time limit. */
  process_id?: string | undefined;
  check_ms?: number | undefined;
}

/** Counts the streams of all processes, in a table with one lease per stream. */
export function createLeaseRegistry(
  createContext: () => Context,
  { max_seconds, process_id, check_ms = LEASE_CHECK_MS }: LeaseRegistryOptions,
): StreamRegistry {
  const held = new Map<string, AbortController>();
  let timer: NodeJS.Timeout | undefined;
  let isChecking = false;

  async function abortReplaced(): Promise<void> {
    if (isChecking) return;
    isChecking = true;
    const ctx = createContext();
    try {
      const ids = [...held.keys()];
      const rows = await ctx.db.select({ id: stream_leases.id }).from(stream_leases).where(inArray(stream_leases.id, ids));
      const kept = new Set(rows.map(({ id }) => id));
      for (const id of ids) if (!kept.has(id)) held.get(id)?.abort();
    } catch (error) {
      ctx.log.warn("stream.leases_not_checked", errorText(error));
    } finally {
      isChecking = false;
    }
  }

  return {
    async acquire(ctx, added) {
      const id = await insertLease(ctx, { ...added, process_id: process_id ?? null }, max_seconds + GRACE_SECONDS);
      const controller = new AbortController();
      if (held.size === 0) timer = setInterval(() => void abortReplaced(), check_ms).unref();
      held.set(id, controller);
      return {
        replaced: controller.signal,
        async release() {
          held.delete(id);
          if (held.size === 0) clearInterval(timer);
          const { db, log } = createContext();
          await db
            .delete(stream_leases)
            .where(eq(stream_leases.id, id))
            .catch((error: unknown) => log.warn("stream.lease_not_released", errorText(error)));
        },
      };
    },
  };
}

/**
 * Counts the open streams and inserts the lease. It locks the caller and then the organization, so that streams that open at the
 * same time are counted one after the other.
 */
function insertLease(ctx: Context, added: AddedStream & { process_id: string | null }, seconds: number): Promise<string> {
  const { caller_id, organization_id } = added;
  return transaction(ctx, async (ctx) => {
    const lockOf = (name: string) => sql`pg_advisory_xact_lock(hashtextextended(${`streams of ${name}`}, 0))`;
    await ctx.db.execute(sql`select ${lockOf(caller_id)}, ${lockOf(organization_id ?? caller_id)}`);
    const counted = or(
      eq(stream_leases.caller_id, caller_id),
      organization_id === null ? undefined : eq(stream_leases.organization_id, organization_id),
    );
    const open = await ctx.db
      .select({
        id: stream_leases.id,
        caller_id: stream_leases.caller_id,
        organization_id: stream_leases.organization_id,
        client_key: stream_leases.client_key,
      })
      .from(stream_leases)
      .where(and(counted, isStreamCounted(ctx)));
    const replaced = admitStream(open, added, ctx.settings.budgets);
    if (replaced.length > 0) await ctx.db.delete(stream_leases).where(inArray(stream_leases.id, replaced));
    const id = randomUUID();
    await ctx.db.insert(stream_leases).values({ id, ...added, expires_at: fromDatabaseNow(seconds) });
    return id;
  });
}

/** Removes the leases of crashed processes. */
export async function removeExpiredLeases(ctx: Context): Promise<void> {
  await ctx.db.delete(stream_leases).where(or(lt(stream_leases.expires_at, fromDatabaseNow(0)), isProcessRemoved(ctx)));
}

/** Returns a time by the database's clock, which all processes share. */
const fromDatabaseNow = (seconds: number): SQL =>
  Number.isFinite(seconds)
    ? sql`clock_timestamp() + make_interval(secs => ${seconds}::double precision)`
    : sql`'infinity'::timestamptz`;
