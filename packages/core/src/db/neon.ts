import { neonConfig, Pool, type PoolClient, type PoolConfig } from "@neondatabase/serverless";
import { drizzle } from "drizzle-orm/neon-serverless";
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

/**
 * How long an idle connection is kept: about as long as a Lambda sandbox waits for its next request. Checking an old connection
 * takes less time than opening a new one.
 */
const IDLE_MS = 60_000;
const CHECK_AFTER_IDLE_MS = 1_000;
const PING_TIMEOUT_MS = 2_000;

type NeonClient = PoolClient;
type ConnectCallback = (error: Error | undefined, client: NeonClient | undefined, done: (release?: unknown) => void) => void;

/**
 * A pool for processes that are frozen between requests. While a process is frozen, its sockets may close unnoticed and its idle
 * timers do not run. So the pool pings an idle connection before handing it out, and replaces it if it is closed.
 */
class FreezeSafePool extends Pool {
  /**
   * When any connection of the pool was last used. In a pool of two, a connection is therefore not pinged if the other one was
   * just used.
   */
  #lastUse = 0;
  readonly #onDropped: (reason: unknown) => void;
  constructor(config: PoolConfig, log: Log) {
    super(config);
    this.#onDropped = countDropped(log);
  }

  override connect(): Promise<NeonClient>;
  override connect(callback: ConnectCallback): void;
  override connect(callback?: ConnectCallback): Promise<NeonClient> | void {
    const connected = this.#connectAlive();
    if (!callback) return connected;
    // `Pool.query` calls `connect` with a callback.
    // oxlint-disable promise/no-callback-in-promise
    connected.then(
      (client) =>
        callback(undefined, keepConnectionAfterRefusal(client, this.#onDropped), (release) => client.release(release as boolean)),
      (error: Error) => callback(error, undefined, () => {}),
    );
    // oxlint-enable promise/no-callback-in-promise
  }

  async #connectAlive(): Promise<NeonClient> {
    for (;;) {
      const idleBefore = this.idleCount;
      const client = await super.connect().catch((error: unknown) => {
        throw new DatabaseConnectError(error);
      });
      const isFresh = idleBefore === 0 || Date.now() - this.#lastUse < CHECK_AFTER_IDLE_MS;
      if (isFresh || (await isAlive(client))) {
        this.#lastUse = Date.now();
        return client;
      }
      client.release(true);
    }
  }
}

async function isAlive(client: NeonClient): Promise<boolean> {
  const deadline = new Promise<false>((resolve) => setTimeout(resolve, PING_TIMEOUT_MS, false).unref());
  return Promise.race([
    client.query("select 1").then(
      () => true,
      () => false,
    ),
    deadline,
  ]);
}

/**
 * Opens Neon over WebSocket, because Neon's HTTP driver has no interactive transactions. `max` is 1 or 2 in Lambda, where a
 * function serves one request at a time. `proxy` (host:port/path) replaces Neon's own proxy. `prepare` works as in postgres.ts.
 */
export function openNeon(
  url: string,
  options: { max?: number; proxy?: string; prepare?: boolean; timeouts?: DatabaseTimeouts; log: Log },
): Database {
  const timeouts = options.timeouts ?? NO_SESSION_TIMEOUTS;
  if (options.proxy) {
    const proxy = options.proxy;
    neonConfig.wsProxy = () => proxy;
    neonConfig.useSecureWebSocket = false;
    neonConfig.pipelineTLS = false;
  }
  const pool = new FreezeSafePool(
    {
      connectionString: url,
      max: options.max ?? 2,
      idleTimeoutMillis: IDLE_MS,
      connectionTimeoutMillis: timeouts.connect_ms,
    },
    options.log,
  );
  guardConnections(pool, options.log);
  // If this fails, the server closes the connection, and `guardConnections` logs the closed connection.
  pool.on("connect", (client: NeonClient) => void configureSession(client, timeouts).catch(() => {}));
  pipelineTransactions(pool);
  if (options.prepare ?? true) cacheStatements(pool);
  const db = drizzle(pool);
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
