import { PGlite } from "@electric-sql/pglite";
import { drizzle } from "drizzle-orm/pglite";
import packageFile from "../../package.json" with { type: "json" };
import { type Log, silentLog } from "../values/log.ts";
import { type Database, migrationsFolder } from "./database.ts";
import { guardDisk, requireDiskSpace } from "./disk-guard.ts";
import { EmbeddedClient } from "./embedded-client.ts";
import { applyMigrations } from "./migrations.ts";
import { DatabaseConnectError } from "./pool.ts";

/** The version of PGlite. If it changes, the prepared database is built again. */
export const EMBEDDED_VERSION: string = packageFile.dependencies["@electric-sql/pglite"];

/**
 * Limits the log segments that are kept for reuse, which could otherwise take a gigabyte. Also limits the memory for pages,
 * because the operating system caches the same files. `configureSession` sets the same page cost on servers.
 */
const START_PARAMETERS = [
  ...PGlite.defaultStartParams,
  ...["max_wal_size=128MB", "min_wal_size=32MB", "shared_buffers=16MB", "random_page_cost=1.1"].flatMap((parameter) => [
    "-c",
    parameter,
  ]),
];
/** The pause between attempts to reopen the database. Each attempt blocks the process for about a second. */
const REOPEN_INTERVAL_MS = 3_000;

/**
 * Opens PostgreSQL inside this process, in memory or in a folder. It has one connection. Only one process may use a folder, so
 * the caller must take a lock file first. If a stored database has crashed, a later statement opens it again.
 */
export async function openPglite(
  options: { folder?: string; dump?: Blob; onQuery?: (query: string) => void; log?: Log } = {},
): Promise<Database & { readonly client: PGlite }> {
  const { folder, dump, onQuery, log = silentLog } = options;
  const clients = await openClients(folder, dump, log);
  const proxy: Pick<PGlite, "query" | "transaction"> = {
    query: (...args) => clients.use((client) => client.query(...args)),
    transaction: (work) => clients.use((client) => client.transaction(work)),
  };
  const db = drizzle({ client: proxy as PGlite, ...(onQuery ? { logger: { logQuery: onQuery } } : {}) });
  return {
    db,
    get client() {
      return clients.current();
    },
    // There is only one connection, so no other statement could run while an index is built.
    migrate: (migrations = migrationsFolder()) => applyMigrations(db, migrations, { concurrently: false }),
    close: () => clients.close(),
  };
}

/** Holds the only client, and replaces it after a crash. */
async function openClients(folder: string | undefined, dump: Blob | undefined, log: Log) {
  let client = await openClient(folder, dump);
  const guard = folder === undefined ? null : guardDisk(folder, () => client, log);
  let opening: Promise<void> | undefined;
  let openedAt = Number.NEGATIVE_INFINITY;

  async function reopen(): Promise<void> {
    if (folder === undefined || performance.now() - openedAt < REOPEN_INTERVAL_MS) return;
    await requireDiskSpace(folder);
    openedAt = performance.now();
    log.error("database.crashed", `The embedded database in ${folder} has crashed and is opened again`);
    await client.close();
    client = await openClient(folder);
    await guard?.adopt(client);
    log.info("database.reopened", "The embedded database is open again");
  }

  return {
    current: () => client,
    async use<T>(work: (client: EmbeddedClient) => Promise<T>): Promise<T> {
      if (client.hasCrashed) await (opening ??= reopen().finally(() => (opening = undefined))).catch(throwConnectError);
      return work(client);
    },
    async close() {
      guard?.stop();
      await opening?.catch(() => {});
      await client.close();
    },
  };
}

async function openClient(folder: string | undefined, dump?: Blob): Promise<EmbeddedClient> {
  if (folder !== undefined) await requireDiskSpace(folder);
  return EmbeddedClient.open({
    ...(folder === undefined ? {} : { dataDir: folder }),
    ...(dump ? { loadDataDir: dump } : {}),
    startParams: START_PARAMETERS,
  });
}

function throwConnectError(error: unknown): never {
  throw new DatabaseConnectError(error);
}
