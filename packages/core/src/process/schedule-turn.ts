import { and, eq, isNotNull, isNull, lt, or, sql } from "drizzle-orm";
import type { Context } from "../context/context.ts";
import { schedule_turns } from "../schema/process.sql.ts";

/** How often a process renews its claim (its turn) on a run of a schedule, in milliseconds. */
export const TURN_RENEW_MS = 10_000;
/** If a claim was not renewed for this long, its process has ended. */
const ABANDONED_AFTER_SECONDS = 30;

/** A process's claim on one scheduled run. */
export interface Turn {
  name: string;
  tick_at: Date;
  process_id: string;
}

const isAbandoned = lt(
  schedule_turns.renewed_at,
  sql`clock_timestamp() - make_interval(secs => ${ABANDONED_AFTER_SECONDS}::double precision)`,
);
const isOwn = ({ name, tick_at, process_id }: Turn) =>
  and(eq(schedule_turns.name, name), eq(schedule_turns.tick_at, tick_at), eq(schedule_turns.process_id, process_id));

/**
 * Claims a scheduled run for this process. Returns false if another process has claimed it, or is still working on the previous run
 * of the same schedule.
 */
export async function takeTurn(ctx: Context, turn: Turn): Promise<boolean> {
  const { tick_at, process_id } = turn;
  const taken = await ctx.db
    .insert(schedule_turns)
    .values(turn)
    .onConflictDoUpdate({
      target: schedule_turns.name,
      set: { tick_at, process_id, renewed_at: sql`clock_timestamp()`, ended_at: null },
      setWhere: and(lt(schedule_turns.tick_at, tick_at), or(isNotNull(schedule_turns.ended_at), isAbandoned))!,
    })
    .returning({ name: schedule_turns.name });
  return taken.length > 0;
}

/** Takes over the scheduled runs whose process ended before it completed them. */
export const takeAbandonedTurns = (ctx: Context, process_id: string): Promise<Turn[]> =>
  ctx.db
    .update(schedule_turns)
    .set({ process_id, renewed_at: sql`clock_timestamp()` })
    .where(and(isNull(schedule_turns.ended_at), isAbandoned))
    .returning({ name: schedule_turns.name, tick_at: schedule_turns.tick_at, process_id: schedule_turns.process_id });

export async function renewTurn(ctx: Context, turn: Turn): Promise<void> {
  await ctx.db.update(schedule_turns).set({ renewed_at: sql`clock_timestamp()` }).where(isOwn(turn));
}

export async function endTurn(ctx: Context, turn: Turn): Promise<void> {
  await ctx.db.update(schedule_turns).set({ ended_at: sql`clock_timestamp()` }).where(isOwn(turn));
}
