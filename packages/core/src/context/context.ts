import { is } from "drizzle-orm";
import { type PgDatabase, type PgQueryResultHKT, PgTransaction } from "drizzle-orm/pg-core";
import type { Actor, Agent, Role, User } from "./actor.ts";
import type { BodyStorage } from "./body-storage.ts";
import { isPipelined } from "../db/pipeline.ts";
import type { EventBus } from "./event-bus.ts";
import type { Gateways } from "./gateways.ts";
import type { ScopedLog } from "../values/log.ts";
import type { Meter } from "./meter.ts";
import type { NotedLimits } from "../values/request-limits.ts";
import type { PathBoard } from "../organization/prefetched-board.ts";
import type { PendingWakeups } from "./pending-wakeups.ts";
import type { Settings } from "../config/settings.ts";
import type { HttpClient } from "./http-client.ts";

/** A database handle of any Drizzle PostgreSQL driver (PGlite, node-postgres, Neon over WebSocket), or an open transaction. */
export type Db = PgDatabase<PgQueryResultHKT>;

/**
 * Everything that the domain needs from outside, passed explicitly. Ambient storage (AsyncLocalStorage) was rejected: a call
 * made outside its scope would fall back to the pool, and its writes would silently leave the transaction.
 */
export interface Context<A extends Actor = Actor> {
  readonly db: Db;
  readonly actor: A;
  readonly gateways: Gateways;
  readonly http: HttpClient;
  readonly bus: EventBus;
  /** Null while no storage is set, so that bodies stay in the database. */
  readonly bodies: BodyStorage | null;
  readonly settings: Settings;
  readonly now: () => Date;
  /** The log of this unit of work; `createContext` of an edge makes a new one for each. */
  readonly log: ScopedLog;
  readonly meter: Meter;
  /** Identifies a request and all jobs that follow from it; null for work that no request or schedule started. */
  readonly trace_id: string | null;
  /** Jobs stored by `enqueue`, relayed by the owner of the request after the commit. All copies of a context share the object. */
  readonly pendingWakeups: PendingWakeups;
  /** The transaction of a whole request that may be repeated. Transactions of the domain are then savepoints in it. */
  readonly request_transaction?: Db;
  /** Runs at the start of each transaction of a conditional request and throws when the condition does not hold. */
  readonly precondition?: (ctx: Context) => Promise<void>;
  /** Stores the answer to a request that may be repeated, in the transaction of its change; see `claimKey`. */
  readonly recordAnswer?: (ctx: Context, answer: unknown) => Promise<void>;
  /** The board that the path of the request names. */
  readonly path_board?: PathBoard;
  /** Gives up the turn of the request, for a wait that takes long: for a host, or for events. Other work has none. */
  readonly endTurn?: () => void;
  /** The limits that this request counts toward, for its answer. */
  readonly limits: NotedLimits;
}

/** The context of a call by a person or an agent. */
export type CallerContext = Context<User | Agent>;

/** What a transaction needs of a context; commands on the database have no more. */
type TransactionContext = Pick<Context, "db" | "request_transaction" | "precondition">;

/**
 * The last writes of a transaction, which are sent together with its COMMIT where the driver can. `run` starts all of them at
 * once, before it awaits anything. When one fails, nothing is committed.
 */
export class FinalWrites<T> {
  readonly run: () => Promise<T>;
  constructor(run: () => Promise<T>) {
    this.run = run;
  }
}

/**
 * Runs `work` in a transaction, joining the caller's when there is one. Name its parameter `ctx` too, so that it shadows the
 * outer context: a query on the outer connection would block itself on PGlite and escape the transaction on a pool.
 */
export async function transaction<C extends TransactionContext, T>(
  ctx: C,
  work: (ctx: C) => Promise<T | FinalWrites<T>>,
): Promise<T> {
  if (isInTransaction(ctx)) {
    const result = await work(ctx);
    return result instanceof FinalWrites ? result.run() : result;
  }
  let writes: Promise<T> | undefined;
  try {
    const result = await ctx.db.transaction(async (db) => {
      const inside = { ...ctx, db };
      // Only the whole context of a request has a precondition.
      await ctx.precondition?.(inside as unknown as Context);
      const result = await work(inside);
      if (!(result instanceof FinalWrites)) return result;
      if (!isPipelined(db)) return result.run();
      writes = start(result);
      // A failure fails the COMMIT too.
      writes.catch(() => {});
      // A query of the query builder starts one turn after it is awaited, and must precede the COMMIT.
      await Promise.resolve();
      return undefined;
    });
    return writes === undefined ? (result as T) : await writes;
  } catch (error) {
    // The error of a write says more than that of the COMMIT.
    await writes;
    throw error;
  }
}

/** An async function, because a query of the query builder runs again whenever it is awaited. */
const start = async <T>({ run }: FinalWrites<T>): Promise<T> => run();

/** The transaction of a request does not count: in it, as without it, the domain opens its own where it needs one. */
export const isInTransaction = (ctx: TransactionContext): boolean =>
  is(ctx.db, PgTransaction) && ctx.db !== ctx.request_transaction;

/** Runs reads at the same time, or in a transaction, which has one connection, one after the other. */
export async function readAll<T extends unknown[]>(ctx: Context, reads: { [K in keyof T]: () => Promise<T[K]> }): Promise<T> {
  if (!is(ctx.db, PgTransaction)) return Promise.all(reads.map((read) => read())) as Promise<T>;
  const results: unknown[] = [];
  for (const read of reads) results.push(await read());
  return results as T;
}

/** Narrows the context to the actor type of a role. Throws when the role does not admit the actor. */
export function as<A extends Actor>(ctx: Context, role: Role<A>): Context<A> {
  return { ...ctx, actor: role.narrow(ctx.actor, ctx.settings) };
}
