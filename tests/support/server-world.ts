import type { Database } from "@board/core/db/database";
import { openPostgres } from "@board/core/db/postgres";
import { silent } from "@board/core/log";
import { startPostgres } from "./postgres.ts";
import { createWorld, type World, type WorldOptions } from "./world.ts";

/** A world on many connections to a real PostgreSQL server: what is told of locks is true of such only. */
export interface ServerWorld {
  world: World;
  database: Database;
  /** Of its database, for connections of a test's own. */
  url: string;
  close: () => Promise<void>;
}

/** Of the service together; the server takes more. */
const CONNECTIONS = 24;

export async function openServerWorld(options: Omit<WorldOptions, "database"> = {}): Promise<ServerWorld> {
  const postgres = await startPostgres();
  const url = await postgres.createDatabase("races");
  const database = openPostgres(url, { max: CONNECTIONS, log: silent });
  await database.migrate();
  const world = await createWorld({ ...options, database });
  return {
    world,
    database,
    url,
    async close() {
      await world.close();
      await database.close();
      await postgres.stop();
    },
  };
}
