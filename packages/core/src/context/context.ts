import { is } from "drizzle-orm";
import { PgTransaction } from "drizzle-orm/pg-core";
import type { Actor, Agent, Role, User } from "./actor.ts";
import type { Db } from "./db.ts";
import type { BodyStorage } from "./body-storage.ts";
import { isPipelined } from "../db/pipeline.ts";
import { isLockFailure } from "../db/query-error.ts";
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
 * Everything that core needs from outside. It is passed explicitly and not through AsyncLocalStorage, because a call that loses
 * the scope would silently use the pool, and its writes would not be part of the transaction.
 */
export interface Context<A extends Actor = Actor> {
  readonly db: Db;
  readonly actor: A;
  readonly gateways: Gateways;
  readonly http: HttpClient;
  readonly bus: EventBus;
  /** Null if no storage is configured. Bodies then stay in the database. */
  readonly bodies: BodyStorage | null;
  /** Null if no storage is configured. Only small files are then accepted. */
  readonly files: FileStorage | null;
  /** Null without a mail server. */
  readonly mail: Mailer | null;
  readonly settings: Settings;
  readonly now: () => Date;
  /** The log of this unit of work, such as a request or a job. */
  readonly log: ScopedLog;
  readonly meter: Meter;
  /** Undefined if no traces or metrics of this process are collected. */
  readonly tracer?: Tracer | undefined;
  /** Identifies a request and all jobs that result from it; null if neither a request nor a schedule started the work. */
  readonly trace_id: string | null;
  /**
   * The jobs that `enqueue` stored. The code that handles the request relays them after the commit. All copies of a context share
   * this object.
   */
  readonly pendingWakeups: PendingWakeups;
  /** The transaction around a whole request that has an idempotency key. Each `transaction` inside it becomes a savepoint. */
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

export type CallerContext = Context<User | Agent>;

/** The part of a context that a transaction needs. Database commands have only this part. */
type TransactionContext = Pick<Context, "db" | "request_transaction" | "precondition">;

/**
 * The last writes of a transaction, which the driver sends together with the COMMIT if it can. `run` must start all writes before
 * it awaits anything. If a write fails, nothing is committed.
 */
export class FinalWrites<T> {
  readonly run: () => Promise<T>;
  constructor(run: () => Promise<T>) {
    this.run = run;
  }
}

/** Transactions lock rows in the same order where that is possible, so a second deadlock in a row is rare. */
const MAX_ATTEMPTS = 5;

/**
 * Thrown inside a `transaction`, before anything is written, if the transaction has locked too few rows. The retry must take
 * locks that keep other transactions from adding more of these rows. Otherwise the retry may lose the same race every time.
 */
export class RetryTransaction extends Error {
  override name = "RetryTransaction";
}

/**
 * Runs `work` in a transaction, or in the caller's transaction if there is one. After a deadlock, a lock timeout or
 * `RetryTransaction`, `work` is repeated with `isRetry`, so it must not change anything outside of the transaction. Name the
 * parameter of `work` `ctx`, so that it shadows the outer context, whose queries would run outside the transaction.
 */
export async function transaction<C extends TransactionContext, T>(
  ctx: C,
  work: (ctx: C, isRetry: boolean) => Promise<T | FinalWrites<T>>,
): Promise<T> {
  for (let attempt = 1; ; attempt++) {
    try {
      return await runTransaction(ctx, (ctx) => work(ctx, attempt > 1));
    } catch (error) {
      // After a failed statement, PostgreSQL accepts no further statement in the caller's transaction, so the work cannot be
      // repeated in it.
      const mayRepeat = error instanceof RetryTransaction || (isLockFailure(error) && !isInTransaction(ctx));
      if (attempt === MAX_ATTEMPTS || !mayRepeat) throw error;
    }
  }
}

/** Like `transaction`, but never repeats the work. */
export async function runTransaction<C extends TransactionContext, T>(
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
      // Only the context of a request has a precondition, and the context of a request has all fields.
      await ctx.precondition?.(inside as unknown as Context);
      const result = await work(inside);
      if (!(result instanceof FinalWrites)) return result;
      if (!isPipelined(db)) return result.run();
      writes = start(result);
      // Marks a rejection as handled. If a write fails, the COMMIT fails too, and the `catch` below handles both.
      writes.catch(() => {});
      // Drizzle sends a query one microtask after it is awaited. Waiting for one microtask here makes the COMMIT follow the
      // writes.
      await Promise.resolve();
      return undefined;
    });
    return writes === undefined ? (result as T) : await writes;
  } catch (error) {
    // If a write failed, this throws its error, which is more informative than the error of the COMMIT.
    await writes;
    throw error;
  }
}

/** Returns a real promise. A Drizzle query that is awaited twice would run twice. */
const start = async <T>({ run }: FinalWrites<T>): Promise<T> => run();

/**
 * Checks whether the caller is in a `transaction`. The transaction around a whole request does not count, because each
 * `transaction` becomes a savepoint inside it.
 */
export const isInTransaction = (ctx: TransactionContext): boolean =>
  is(ctx.db, PgTransaction) && ctx.db !== ctx.request_transaction;

/**
 * Runs reads at the same time. Reads that share a connection (in a transaction or in the embedded database) run one after the
 * other, because starting them all at once would only take the connection from other requests.
 */
export async function readAll<T extends unknown[]>(ctx: Context, reads: { [K in keyof T]: () => Promise<T[K]> }): Promise<T> {
  if (!is(ctx.db, PgTransaction) && ctx.settings.database.driver !== "pglite")
    return Promise.all(reads.map((read) => read())) as Promise<T>;
  const results: unknown[] = [];
  for (const read of reads) results.push(await read());
  return results as T;
}

/** Narrows the context to the actor type of a role. Throws if the role does not allow the actor. */
export function as<A extends Actor>(ctx: Context, role: Role<A>): Context<A> {
  return { ...ctx, actor: role.narrow(ctx.actor, ctx.settings) };
}
