import { setTimeout as pause } from "node:timers/promises";
import { and, eq, lt, type SQL, sql } from "drizzle-orm";
import { type Context, inTransaction } from "../context.ts";
import { errorText } from "../log.ts";
import { GatewayError } from "./client.ts";
import { gateways } from "./gateway.sql.ts";
import { host_turns } from "./turn.sql.ts";

/** After this long without a word a holder has lost its turn: its process is gone. It says one three times as often. */
const HELD_MS = 60_000;
/** Between two looks at a turn that somebody has; as much again by chance, so that waiters do not look all at once. */
const POLL_MS = 100;

export interface Turn {
  /** Ends the turn; the next one begins `spacing_ms` later. Never rejects: a turn that cannot be given back runs out. */
  release(spacing_ms: number): Promise<void>;
}

/**
 * Waits for the turn to write to a host's configuration: one holder at a time over all processes, by the database's clock.
 * No connection and no transaction is held while waiting or working. Rejects with a GatewayError after `wait_ms`.
 */
export async function takeTurn(
  ctx: Context,
  gateway_id: string,
  { wait_ms, signal, held_ms = HELD_MS }: { wait_ms: number; signal?: AbortSignal | undefined; held_ms?: number },
): Promise<Turn> {
  if (inTransaction(ctx)) throw new Error("A turn at a host is never waited for inside a transaction");
  const holder = crypto.randomUUID();
  const deadline = performance.now() + wait_ms;
  while (!(await take(ctx, { gateway_id, holder, held_until: inMs(held_ms) }))) {
    const left = deadline - performance.now();
    if (left <= 0) throw busy(wait_ms);
    await pause(Math.min(POLL_MS * (1 + Math.random()), left), undefined, signal ? { signal } : {});
  }
  const held = and(eq(host_turns.gateway_id, gateway_id), eq(host_turns.holder, holder))!;
  const renewal = setInterval(() => void renew(ctx, held, gateway_id, held_ms), held_ms / 3).unref();
  return {
    async release(spacing_ms) {
      clearInterval(renewal);
      const freed = { holder: null, held_until: inMs(0), free_at: inMs(spacing_ms) };
      await ctx.db
        .update(host_turns)
        .set(freed)
        .where(held)
        .catch((error: unknown) => ctx.log.warn("gateway.turn_not_released", errorText(error), { gateway_id }));
    },
  };
}

/** Removes the turns of gateways that are gone. A late clean-up makes its own anew. */
export async function removeOldTurns(ctx: Context): Promise<void> {
  const orphaned = sql`not exists (select 1 from ${gateways} where ${gateways}.id = ${host_turns}.gateway_id)`;
  await ctx.db.delete(host_turns).where(and(orphaned, lt(host_turns.held_until, inMs(0)), lt(host_turns.free_at, inMs(0))));
}

/** An instant of the database's clock, which all processes share. */
const inMs = (ms: number): SQL => sql`clock_timestamp() + make_interval(secs => ${ms / 1000}::double precision)`;

/** One statement decides: the first turn of a gateway is its row, a later one needs that nobody has it and its time has come. */
async function take(ctx: Context, turn: { gateway_id: string; holder: string; held_until: SQL }): Promise<boolean> {
  const { holder, held_until } = turn;
  const taken = await ctx.db
    .insert(host_turns)
    .values({ ...turn, free_at: inMs(0) })
    .onConflictDoUpdate({
      target: host_turns.gateway_id,
      set: { holder, held_until },
      setWhere: sql`(${host_turns}.holder is null or ${host_turns}.held_until < clock_timestamp()) and ${host_turns}.free_at <= clock_timestamp()`,
    })
    .returning({ holder: host_turns.holder });
  return taken.length > 0;
}

async function renew(ctx: Context, held: SQL, gateway_id: string, held_ms: number): Promise<void> {
  await ctx.db
    .update(host_turns)
    .set({ held_until: inMs(held_ms) })
    .where(held)
    .catch((error: unknown) => ctx.log.warn("gateway.turn_not_renewed", errorText(error), { gateway_id }));
}

const BUSY = "CONFIGURATION_BUSY";

export const isBusy = (error: unknown): boolean => error instanceof GatewayError && error.failure.code === BUSY;

export function busy(waited_ms: number): GatewayError {
  const text = `The host's configuration is busy: others have been writing to it for ${Math.round(waited_ms / 1000)} s.`;
  return new GatewayError(text, { code: BUSY, retryable: true });
}
