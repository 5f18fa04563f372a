import { openPostgres } from "@board/core/db/postgres";
import { silentLog } from "@board/core/values/log";
import { startPostgres } from "./postgres.ts";
import { createWorld, type World, type WorldOptions } from "./world.ts";

/** A world on its own database server without autovacuum, so that its counts of rows and plans depend on the test alone. */
export async function openGrowthWorld(
  options: Omit<WorldOptions, "database"> = {},
): Promise<{ world: World; close: () => Promise<void> }> {
  const postgres = await startPostgres({ autovacuum: "off" });
  // With a single connection, its report completes the statistics, and it holds the plans of all statements.
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
