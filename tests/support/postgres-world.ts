import type { Database } from "@board/core/db/database";
import { openPostgres } from "@board/core/db/postgres";
import { silentLog } from "@board/core/values/log";
import { copyTemplate } from "./test-database.ts";
import { createWorld, type World, type WorldOptions } from "./world.ts";

/** A world with many connections to a PostgreSQL server, for tests of locks and races. */
export interface ServerWorld {
  world: World;
  database: Database;
  /** The URL of the database, for additional connections. */
  url: string;
  close: () => Promise<void>;
}

/** The number of the service's connections; the server accepts more. */
const CONNECTIONS = 24;

export async function openServerWorld(
  options: Omit<WorldOptions, "database"> = {},
  connections = CONNECTIONS,
): Promise<ServerWorld> {
  const copy = await copyTemplate();
  const { url } = copy;
  const database = openPostgres(url, { max: connections, log: silentLog });
  const world = await createWorld({ ...options, database });
  return {
    world,
    database,
    url,
    async close() {
      await world.close();
      await database.close();
      await copy.drop();
    },
  };
}
