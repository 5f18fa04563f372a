import { mkdir, readdir } from "node:fs/promises";
import path from "node:path";
import type { Database } from "@board/core/db/database";
import { SERVICE_TIMEOUTS } from "@board/core/db/pool";
import type { Log } from "@board/core/values/log";
import type { DatabaseSettings } from "@board/core/config/settings";

/** Returns the folder of the embedded database. */
export const databaseFolder = ({ data_dir }: DatabaseSettings): string => path.resolve(data_dir, "database");

/** Opens the database with the driver of the settings. Only that driver is loaded. */
export async function openDatabase(settings: DatabaseSettings, log: Log): Promise<Database> {
  const { driver, url } = settings.database;
  const options = { prepare: settings.prepared_statements, timeouts: SERVICE_TIMEOUTS, log };
  if (driver === "pglite") {
    const folder = databaseFolder(settings);
    // The database creates files that every user of the machine may read, so the folder must be private.
    await mkdir(folder, { recursive: true, mode: 0o700 });
    return (await import("@board/core/db/pglite")).openPglite({ folder, log });
  }
  if (driver === "neon") return (await import("@board/core/db/neon")).openNeon(url, { max: 10, ...options });
  return (await import("@board/core/db/postgres")).openPostgres(url, options);
}

/** Returns whether the folder of the embedded database is absent or empty. */
export const isMissing = (folder: string): Promise<boolean> =>
  readdir(folder).then(
    (names) => names.length === 0,
    (error: NodeJS.ErrnoException) => error.code === "ENOENT",
  );
