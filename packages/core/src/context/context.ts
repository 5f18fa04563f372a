import { is } from "drizzle-orm";
import { PgTransaction } from "drizzle-orm/pg-core";
import type { Actor, Agent, Role, User } from "./actor.ts";
import type { Db } from "./db.ts";
import type { BodyStorage } from "./body-storage.ts";
import { isPipelined } from "../db/pipeline.ts";
import type { EventBus } from "./event-bus.ts";
import type { FileStorage } from "./file-storage.ts";
import type { Gateways } from "./gateways.ts";
import type { ScopedLog } from "../values/log.ts";
import type { Mailer } from "./mailer.ts";
import type { Meter } from "./meter.ts";
import type { LimitStatuses } from "../values/request-limits.ts";
import type { PrefetchedBoard } from "./prefetched-board.ts";
import type { PendingWakeups } from "./pending-wakeups.ts";
import type { Tracer } from "./tracer.ts";
import type { Settings } from "../config/settings.ts";
import type { HttpClient } from "./http-client.ts";

/**
 * Everything that the domain needs from outside, passed explicitly. With ambient storage (AsyncLocalStorage), a call outside its
 * scope would use the pool, and its writes would silently leave the transaction.
 */
export interface Context<A extends Actor = Actor> {
  readonly db: Db;
  readonly actor: A;
  readonly gateways: Gateways;
  readonly http: HttpClient;
  readonly bus: EventBus;
  /** Null if no storage is configured; bodies then stay in the database. */
  readonly bodies: BodyStorage | null;
  /** Null if no storage is configured; only small files are then accepted. */
  readonly files: FileStorage | null;
  /** Null without a mail server. */
  readonly mail: Mailer | null;
  readonly settings: Settings;
  readonly now: () => Date;
  /** The log of this unit of work, such as a request or a job. */
  readonly log: ScopedLog;
  readonly meter: Meter;
  /** Undefined if nobody collects traces or metrics of this process. */
  readonly tracer?: Tracer | undefined;
  /** Identifies a request and all jobs that follow from it; null if neither a request nor a schedule started the work. */
  readonly trace_id: string | null;
  /**
   * The jobs that `enqueue` stored. The owner of the request relays them after the commit. All copies of a context share this
   * object.
   */
  readonly pendingWakeups: PendingWakeups;
  /** The transaction around a whole request that has an idempotency key. Transactions of the domain are then savepoints in it. */
  readonly request_transaction?: Db;
  /** Runs at the start of each transaction of a request with If-Match, and throws if the condition is not met. */
  readonly precondition?: (ctx: Context) => Promise<void>;
  /** Stores the answer to a request with an idempotency key, in the transaction of its change; see `claimKey`. */
  readonly recordAnswer?: (ctx: Context, answer: unknown) => Promise<void>;
  /** The board that the path of the request names. */
  readonly prefetched_board?: PrefetchedBoard;
  /**
   * Frees the request's slot in the queue of requests during a long wait for a host or for events. Undefined for work without a
   * slot.
   */
  readonly releaseSlot?: () => void;
  /** The client of a request, for the audit log. */
  readonly client?: { address: string; user_agent: string | null };
  /** The rate limits that this request counts toward, for the headers of its answer. */
  readonly limits: LimitStatuses;
}

/** The context of a call by a person or an agent. */
export type CallerContext = Context<User | Agent>;

/** The part of a context that a transaction needs; commands on the database have only this part. */
type TransactionContext = Pick<Context, "db" | "request_transaction" | "precondition">;

/**
 * The last writes of a transaction, which are sent together with its COMMIT if the driver can do so. `run` must start all of them
 * before it awaits anything. If one fails, nothing is committed.
 */
export class FinalWrites<T> {
  readonly run: () => Promise<T>;
  constructor(run: () => Promise<T>) {
    this.run = run;
  }
}

/**
 * Runs `work` in a transaction, or in the caller's if there is one. Name its parameter `ctx` too, so that it shadows the outer
 * context: on the outer connection a query would block itself on PGlite, and on a pool run outside the transaction.
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
      // Only a full request context has a precondition.
      await ctx.precondition?.(inside as unknown as Context);
      const result = await work(inside);
      if (!(result instanceof FinalWrites)) return result;
      if (!isPipelined(db)) return result.run();
      writes = start(result);
      // If a write fails, the COMMIT fails too and its error is handled below.
      writes.catch(() => {});
      // A query of the query builder is sent one microtask after its await. Wait for it, so that the COMMIT follows the writes.
      await Promise.resolve();
      return undefined;
    });
    return writes === undefined ? (result as T) : await writes;
  } catch (error) {
    // Throws the error of the failed write if there is one, because it says more than the error of the COMMIT.
    await writes;
    throw error;
  }
}

/** An async function returns one promise. A query of the query builder would run again at each await. */
const start = async <T>({ run }: FinalWrites<T>): Promise<T> => run();

/**
 * Whether the caller is in a transaction of the domain. The transaction around a request does not count, because the domain opens
 * its own inside it.
 */
export const isInTransaction = (ctx: TransactionContext): boolean =>
  is(ctx.db, PgTransaction) && ctx.db !== ctx.request_transaction;

/**
 * Runs reads at the same time. Where they share a connection, in a transaction or in the embedded database, they run one after
 * the other: all at once would only take more than this request's share of the connection.
 */
export async function readAll<T extends unknown[]>(ctx: Context, reads: { [K in keyof T]: () => Promise<T[K]> }): Promise<T> {
  if (!is(ctx.db, PgTransaction) && ctx.settings.database.driver !== "pglite")
    return Promise.all(reads.map((read) => read())) as Promise<T>;
  const results: unknown[] = [];
  for (const read of reads) results.push(await read());
  return results as T;
}

/** Narrows the context to the actor type of a role. Throws when the role does not admit the actor. */
export function as<A extends Actor>(ctx: Context, role: Role<A>): Context<A> {
  return { ...ctx, actor: role.narrow(ctx.actor, ctx.settings) };
}
