import { is } from "drizzle-orm";
import { type PgDatabase, type PgQueryResultHKT, PgTransaction } from "drizzle-orm/pg-core";
import type { Actor } from "./actor.ts";
import type { EventBus } from "./bus.ts";
import type { Gateways } from "./gateway/client.ts";
import type { Log } from "./log.ts";
import type { Meter } from "./meter.ts";
import type { Outbox } from "./outbox.ts";
import type { Settings } from "./settings.ts";
import type { Web } from "./web/web.ts";

/** Any Drizzle Postgres driver (PGlite, node-postgres, Neon's WebSocket pool), or an open transaction on one. */
export type Db = PgDatabase<PgQueryResultHKT>;

/**
 * All that the domain needs from outside, passed by hand. Ambient storage was rejected: its fallback, when a call
 * happens outside of it, is where writes silently leave their transaction.
 */
export interface Context<A extends Actor = Actor> {
  readonly db: Db;
  readonly actor: A;
  readonly gateways: Gateways;
  readonly web: Web;
  readonly bus: EventBus;
  readonly settings: Settings;
  readonly now: () => Date;
  readonly log: Log;
  readonly meter: Meter;
  /** Follows work from its request through the queue to the consumer; null for what nobody asked for. */
  readonly trace_id: string | null;
  /** Filled by `enqueue`: whoever owns the request relays once it has committed. Shared by every copy of this context. */
  readonly outbox: Outbox;
}

/**
 * Runs `work` in a transaction, joining the caller's when there is one. Name its parameter `ctx` too, so that the outer
 * connection is out of reach: on a single connection (PGlite) it would wait for itself, on a pool it would escape.
 */
export function transaction<C extends Context, T>(ctx: C, work: (ctx: C) => Promise<T>): Promise<T> {
  if (inTransaction(ctx)) return work(ctx);
  return ctx.db.transaction((db) => work({ ...ctx, db }));
}

export const inTransaction = (ctx: Context): boolean => is(ctx.db, PgTransaction);
