import { errorText, type Log } from "../values/log.ts";

/** All values are milliseconds; 0 means no limit. */
export interface DatabaseTimeouts {
  /** How long to wait until a connection is opened or becomes free. */
  connect_ms: number;
  statement_ms: number;
  /** How long a transaction may stay open without a statement. */
  idle_transaction_ms: number;
}

/**
 * No request of the service should take this long. PostgreSQL ends a statement or transaction that does, because it may hold
 * locks that others wait for.
 */
export const SERVICE_TIMEOUTS: DatabaseTimeouts = { connect_ms: 10_000, statement_ms: 60_000, idle_transaction_ms: 60_000 };

export const NO_SESSION_TIMEOUTS: DatabaseTimeouts = { connect_ms: 10_000, statement_ms: 0, idle_transaction_ms: 0 };

/** The pool could not provide a connection, for any reason. */
export class DatabaseConnectError extends Error {
  constructor(cause: unknown) {
    super("Cannot connect to the database", { cause });
    this.name = "DatabaseConnectError";
  }
}

interface Queryable {
  query(text: string): Promise<unknown>;
}
interface Client {
  on(event: "error", listener: (error: Error) => void): unknown;
  release(destroy?: boolean): void;
}
interface Pool {
  on(event: "connect" | "acquire", listener: (client: Client) => void): unknown;
  on(event: "release", listener: (error: Error, client: Client) => void): unknown;
  on(event: "error", listener: (error: Error) => void): unknown;
}

/** Checks whether the server refused a statement, for example because it violates a constraint. The connection stays usable. */
function isRefusal(reason: unknown): boolean {
  if (!(reason instanceof Error) || !("severity" in reason)) return false;
  return reason.severity !== "FATAL" && reason.severity !== "PANIC";
}

/**
 * Keeps a connection after the server refused a statement. The pools would close it after any error of `pool.query`, and a new
 * session would have to plan all statements again. Call this at each checkout, after the pool has set `release`.
 */
export function keepConnectionAfterRefusal<C extends { release: (destroy?: boolean | Error) => void }>(
  client: C,
  onDropped: (reason: unknown) => void,
): C {
  const release = client.release.bind(client);
  client.release = (reason) => {
    if (!reason || isRefusal(reason)) return release();
    onDropped(reason);
    release(reason);
  };
  return client;
}

/** Logs each connection that a pool had to close, with the total so far. */
export function countDropped(log: Log): (reason: unknown) => void {
  let dropped = 0;
  return (reason) =>
    log.warn("database.connection_dropped", reason instanceof Error ? errorText(reason) : "", { dropped: ++dropped });
}

/**
 * Pages are in memory or on an SSD, where a random read costs little more than a sequential read. With PostgreSQL's default of 4,
 * the planner would prefer to scan a table of a few hundred rows for each row of a page instead of using its index.
 */
const PAGE_COST = "set random_page_cost = 1.1";

/**
 * Sets the page cost and the timeouts of a new session. They are not connection parameters, because poolers refuse parameters that
 * they do not know.
 */
export async function configureSession(
  client: Queryable,
  { statement_ms, idle_transaction_ms }: DatabaseTimeouts,
): Promise<void> {
  const limits = `set statement_timeout = ${statement_ms}; set idle_in_transaction_session_timeout = ${idle_transaction_ms}`;
  await client.query(statement_ms > 0 || idle_transaction_ms > 0 ? `${PAGE_COST}; ${limits}` : PAGE_COST);
}

/**
 * Keeps the process running when a connection breaks. The drivers handle `error` events only of idle connections. On a connection
 * in use, this event would end the process.
 */
export function guardConnections(pool: Pool, log: Log): void {
  const inUse = new Set<Client>();
  const logLoss = (error: Error) => log.warn("database.connection_lost", errorText(error));
  pool.on("error", logLoss);
  pool.on("acquire", (client) => inUse.add(client));
  pool.on("release", (_error, client) => inUse.delete(client));
  pool.on("connect", (client) => {
    client.on("error", (error) => {
      if (!inUse.delete(client)) return;
      logLoss(error);
      // If BEGIN fails, Drizzle does not release the connection, so it is released here. After any other failure, Drizzle
      // releases it again. The pool would throw at a second release, so `release` now does nothing.
      client.release(true);
      client.release = () => {};
    });
  });
}
