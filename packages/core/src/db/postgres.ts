import { drizzle } from "drizzle-orm/node-postgres";
import pg from "pg";
import type { Log } from "../values/log.ts";
import { type Database, migrationsFolder } from "./database.ts";
import { pipelineTransactions } from "./pipeline.ts";
import {
  countDropped,
  DatabaseConnectError,
  type DatabaseTimeouts,
  guardConnections,
  keepConnectionAfterRefusal,
  configureSession,
  NO_SESSION_TIMEOUTS,
} from "./pool.ts";
import { cacheStatements } from "./statement-cache.ts";

type ConnectCallback = Parameters<pg.Pool["connect"]>[0];

/**
 * A pool that wraps its connection errors in `DatabaseConnectError`. Otherwise they would look like connection errors of another
 * server.
 */
class MarkingPool extends pg.Pool {
  readonly #onDropped: (reason: unknown) => void;
  constructor(config: pg.PoolConfig, log: Log) {
    super(config);
    this.#onDropped = countDropped(log);
  }
  override connect(): Promise<pg.PoolClient>;
  override connect(callback: ConnectCallback): void;
  override connect(callback?: ConnectCallback): Promise<pg.PoolClient> | void {
    // `Pool.query` calls `connect` with a callback.
    if (callback)
      return super.connect((error, client, done) =>
        callback(error && new DatabaseConnectError(error), client && keepConnectionAfterRefusal(client, this.#onDropped), done),
      );
    return super.connect().catch((error: unknown) => {
      throw new DatabaseConnectError(error);
    });
  }
}

/**
 * Opens a PostgreSQL server through node-postgres. `max` is the number of connections of this process. `prepare` must be false if
 * a pooler in between does not support prepared statements.
 */
export function openPostgres(
  url: string,
  options: {
    max?: number;
    prepare?: boolean;
    timeouts?: DatabaseTimeouts;
    log: Log;
    onQuery?: (query: string, values: unknown[]) => void;
  },
): Database {
  const timeouts = options.timeouts ?? NO_SESSION_TIMEOUTS;
  const pool = new MarkingPool(
    {
      connectionString: url,
      max: options.max ?? 10,
      connectionTimeoutMillis: timeouts.connect_ms,
      keepAlive: true,
      // The pool awaits the promise, although its types do not say so.
      // oxlint-disable-next-line typescript/no-misused-promises
      onConnect: (client) => configureSession(client, timeouts),
    },
    options.log,
  );
  guardConnections(pool, options.log);
  pipelineTransactions(pool);
  if (options.prepare ?? true) cacheStatements(pool);
  const { onQuery } = options;
  const db = drizzle(pool, onQuery ? { logger: { logQuery: onQuery } } : {});
  return {
    db,
    async migrate(folder = migrationsFolder()) {
      // The module is imported only here, because the functions that serve requests never migrate.
      const { migrateServer } = await import("./migrations.ts");
      const client = await pool.connect();
      await migrateServer(client, drizzle(client), folder);
    },
    close: () => pool.end(),
  };
}
