import { drizzle } from "drizzle-orm/node-postgres";
import pg from "pg";
import type { Log } from "../log.ts";
import { type Database, migrateAlone, migrationsFolder } from "./database.ts";
import { prepareOften } from "./prepare-often.ts";

/**
 * A PostgreSQL server through node-postgres. `max` is the number of connections of this process; `prepare` is false for
 * a pooler that does not carry prepared statements over.
 */
export function openPostgres(url: string, options: { max?: number; prepare?: boolean; log: Log }): Database {
  const pool = new pg.Pool({ connectionString: url, max: options.max ?? 10, connectionTimeoutMillis: 10_000 });
  // Without a listener a connection that dies while idle would end the process.
  pool.on("error", (error) => options.log.warn("database.connection_lost", error.message));
  if (options.prepare ?? true) prepareOften(pool);
  const db = drizzle(pool);
  return {
    db,
    async migrate(folder = migrationsFolder()) {
      // Loaded here: the functions that answer requests never migrate.
      const { migrate } = await import("drizzle-orm/node-postgres/migrator");
      const client = await pool.connect();
      await migrateAlone(client, () => migrate(drizzle(client), { migrationsFolder: folder }));
    },
    close: () => pool.end(),
  };
}
