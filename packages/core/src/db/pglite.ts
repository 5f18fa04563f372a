import { PGlite } from "@electric-sql/pglite";
import { drizzle } from "drizzle-orm/pglite";
import { migrate } from "drizzle-orm/pglite/migrator";
import { type Database, migrationsFolder } from "./database.ts";

/**
 * PostgreSQL inside this process, stored in a folder or in memory. It has a single connection, and only one process may use a
 * folder: the caller takes a lock file first.
 */
export async function openPglite(
  options: { folder?: string; dump?: Blob; onQuery?: (query: string) => void } = {},
): Promise<Database & { client: PGlite }> {
  const client = await PGlite.create({
    ...(options.folder ? { dataDir: options.folder } : {}),
    ...(options.dump ? { loadDataDir: options.dump } : {}),
  });
  const { onQuery } = options;
  const db = drizzle(client, onQuery ? { logger: { logQuery: onQuery } } : {});
  return {
    db,
    client,
    migrate: (folder = migrationsFolder()) => migrate(db, { migrationsFolder: folder }),
    close: () => client.close(),
  };
}
