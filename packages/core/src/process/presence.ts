import { and, asc, eq, gt, inArray, lt, notInArray, type SQL, sql } from "drizzle-orm";
import type { Context } from "../context/context.ts";
import { processes } from "../schema/process.sql.ts";
import { stream_leases } from "../schema/stream-lease.sql.ts";

/** How often a process renews its presence. */
export const PRESENCE_MS = 15_000;
/** A process that has not been seen for this long counts as ended, since it has missed two renewals. */
export const GONE_AFTER_SECONDS = 45;
/**
 * How long the row of a process is kept after its last renewal. It is long, because the renewals of all processes are late after
 * the database was down.
 */
const REMOVE_AFTER_SECONDS = 600;

interface ServiceProcess {
  id: string;
  /** Host name and process id. */
  name: string;
}

/** Tells the other processes that this process is running, and how far its clock is ahead of the database's. */
export async function announcePresence(ctx: Context, { id, name }: ServiceProcess): Promise<void> {
  const clock_ahead_ms = sql`extract(epoch from ${ctx.now().toISOString()}::timestamptz - clock_timestamp()) * 1000`;
  await ctx.db
    .insert(processes)
    .values({ id, name, clock_ahead_ms })
    .onConflictDoUpdate({ target: processes.id, set: { clock_ahead_ms, seen_at: sql`clock_timestamp()` } });
}

/** Removes a process that stops, so that its streams stop counting at once. */
export async function withdrawPresence(ctx: Context, id: string): Promise<void> {
  await ctx.db.delete(processes).where(eq(processes.id, id));
}

const secondsAgo = (seconds: number): SQL => sql`clock_timestamp() - make_interval(secs => ${seconds}::double precision)`;

const isPresent = () => gt(processes.seen_at, secondsAgo(GONE_AFTER_SECONDS));

/** Returns the condition that a stream still counts: its lease has not expired and its process, if it has one, is running. */
export const isStreamCounted = (ctx: Pick<Context, "db">): SQL =>
  and(
    gt(stream_leases.expires_at, sql`clock_timestamp()`),
    sql`(${stream_leases.process_id} is null or ${inArray(
      stream_leases.process_id,
      ctx.db.select({ id: processes.id }).from(processes).where(isPresent()),
    )})`,
  )!;

/** Removes the rows of processes that ended a long time ago. */
export async function removeGoneProcesses(ctx: Context): Promise<void> {
  await ctx.db.delete(processes).where(lt(processes.seen_at, secondsAgo(REMOVE_AFTER_SECONDS)));
}

/** Returns the condition that the process of a stream was removed. */
export const isProcessRemoved = (ctx: Pick<Context, "db">): SQL =>
  and(
    sql`${stream_leases.process_id} is not null`,
    notInArray(stream_leases.process_id, ctx.db.select({ id: processes.id }).from(processes)),
  )!;

/** Lists the running processes, for operators. */
export const listProcesses = (
  ctx: Pick<Context, "db">,
): Promise<Pick<typeof processes.$inferSelect, "name" | "started_at" | "clock_ahead_ms">[]> =>
  ctx.db
    .select({ name: processes.name, started_at: processes.started_at, clock_ahead_ms: processes.clock_ahead_ms })
    .from(processes)
    .where(isPresent())
    .orderBy(asc(processes.started_at));
