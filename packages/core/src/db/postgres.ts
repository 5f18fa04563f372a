import { drizzle } from "drizzle-orm/node-postgres";
import { migrate } from "drizzle-orm/node-postgres/migrator";
import pg from "pg";
import type { Log } from "../log.ts";
import { type Database, migrateAlone, migrationsFolder } from "./database.ts";
import * as schema from "./schema.ts";

/** A PostgreSQL server through node-postgres. `max` is the number of connections of this process. */
export function openPostgres(url: string, options: { max?: number; log: Log }): Database {
  const pool = new pg.Pool({ connectionString: url, max: options.max ?? 10, connectionTimeoutMillis: 10_000 });
  // Without a listener a connection that dies while idle would end the process.
  pool.on("error", (error) => options.log.warn("database.connection_lost", error.message));
  const db = drizzle(pool, { schema });
  return {
    db,
    async migrate(folder = migrationsFolder()) {
      const client = await pool.connect();
      await migrateAlone(client, () => migrate(drizzle(client, { schema }), { migrationsFolder: folder }));
    },
    close: () => pool.end(),
  };
}
