import { neonConfig, Pool, type PoolClient } from "@neondatabase/serverless";
import { drizzle } from "drizzle-orm/neon-serverless";
import type { Log } from "../log.ts";
import { type Database, migrateAlone, migrationsFolder } from "./database.ts";
import { prepareOften } from "./prepare-often.ts";

const IDLE_TRUSTED_MS = 1_000;
const PROBE_MS = 2_000;

type Connected = PoolClient;
type Callback = (error: Error | undefined, client: Connected | undefined, done: (release?: unknown) => void) => void;

/**
 * A pool for processes that are frozen between requests. Their sockets die unseen and no idle timer runs, so a connection
 * that was not used just now is asked for a sign of life before work, and replaced without the request noticing.
 */
class SandboxPool extends Pool {
  #lastUse = 0;

  override connect(): Promise<Connected>;
  override connect(callback: Callback): void;
  override connect(callback?: Callback): Promise<Connected> | void {
    const connected = this.#alive();
    if (!callback) return connected;
    // The pool's own query() takes connections by callback.
    // oxlint-disable promise/no-callback-in-promise
    connected.then(
      (client) => callback(undefined, client, (release) => client.release(release as boolean)),
      (error: Error) => callback(error, undefined, () => {}),
    );
    // oxlint-enable promise/no-callback-in-promise
  }

  async #alive(): Promise<Connected> {
    for (;;) {
      const before = this.idleCount;
      const client = await super.connect();
      const fresh = before === 0 || Date.now() - this.#lastUse < IDLE_TRUSTED_MS;
      if (fresh || (await answers(client))) {
        this.#lastUse = Date.now();
        return client;
      }
      client.release(true);
    }
  }
}

async function answers(client: Connected): Promise<boolean> {
  const deadline = new Promise<false>((resolve) => setTimeout(resolve, PROBE_MS, false).unref());
  return Promise.race([
    client.query("select 1").then(
      () => true,
      () => false,
    ),
    deadline,
  ]);
}

/**
 * Neon over WebSocket: the HTTP driver has no interactive transactions. `max` stays at 1 or 2 in a Lambda, which serves
 * one request at a time. `proxy` (host:port/path) stands in for Neon's own edge in front of an ordinary server.
 */
export function openNeon(url: string, options: { max?: number; proxy?: string; prepare?: boolean; log: Log }): Database {
  if (options.proxy) {
    const proxy = options.proxy;
    neonConfig.wsProxy = () => proxy;
    neonConfig.useSecureWebSocket = false;
    neonConfig.pipelineTLS = false;
  }
  const pool = new SandboxPool({
    connectionString: url,
    max: options.max ?? 2,
    idleTimeoutMillis: 5_000,
    connectionTimeoutMillis: 10_000,
  });
  // A sandbox is frozen with its sockets open; they are dead when it thaws, and an unheard error would end the process.
  pool.on("error", (error: Error) => options.log.warn("database.connection_lost", error.message));
  if (options.prepare ?? true) prepareOften(pool);
  const db = drizzle(pool);
  return {
    db,
    async migrate(folder = migrationsFolder()) {
      // Loaded here: the functions that answer requests never migrate.
      const { migrate } = await import("drizzle-orm/neon-serverless/migrator");
      const client = await pool.connect();
      await migrateAlone(client, () => migrate(drizzle(client), { migrationsFolder: folder }));
    },
    close: () => pool.end(),
  };
}
