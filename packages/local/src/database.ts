import { mkdir } from "node:fs/promises";
import path from "node:path";
import type { Database } from "@board/core/db/database";
import type { Log } from "@board/core/log";
import type { DatabaseSettings } from "@board/core/settings";

/** Where the embedded database is. */
export const databaseFolder = ({ data_dir }: DatabaseSettings): string => path.resolve(data_dir, "database");

/** The driver by the settings; each is loaded only when used. */
export async function openDatabase(settings: DatabaseSettings, log: Log): Promise<Database> {
  const { driver, url } = settings.database;
  const prepare = settings.prepared_statements;
  if (driver === "pglite") {
    const folder = databaseFolder(settings);
    // The database's own files are open to every user of the machine; their folder is not.
    await mkdir(folder, { recursive: true, mode: 0o700 });
    return (await import("@board/core/db/pglite")).openPglite({ folder });
  }
  if (driver === "neon") return (await import("@board/core/db/neon")).openNeon(url, { max: 10, prepare, log });
  return (await import("@board/core/db/postgres")).openPostgres(url, { prepare, log });
}
