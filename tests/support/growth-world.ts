import { openPostgres } from "@board/core/db/postgres";
import { silentLog } from "@board/core/values/log";
import { startPostgres } from "./postgres.ts";
import { createWorld, type World, type WorldOptions } from "./world.ts";

/** Opens a world on a separate database server without autovacuum, so that counts of rows and plans depend only on the test. */
export async function openGrowthWorld(
  options: Omit<WorldOptions, "database"> = {},
): Promise<{ world: World; close: () => Promise<void> }> {
  const postgres = await startPostgres({ autovacuum: "off" });
  // A single connection, because statistics and plans of statements are kept per connection.
  const database = openPostgres(await postgres.createDatabase("growth"), { max: 1, log: silentLog });
  await database.migrate();
  const world = await createWorld({ ...options, database });
  return {
    world,
    close: async () => {
      await world.close();
      await database.close();
      await postgres.stop();
    },
  };
}
