import { openPostgres } from "@board/core/db/postgres";
import { silentLog } from "@board/core/values/log";
import { startPostgres } from "./postgres.ts";
import { createWorld, type World, type WorldOptions } from "./world.ts";

/** A world whose database counts rows visited and plans made, on a server of its own that cleans nothing up by itself. */
export async function openGrowthWorld(
  options: Omit<WorldOptions, "database"> = {},
): Promise<{ world: World; close: () => Promise<void> }> {
  const postgres = await startPostgres({ autovacuum: "off" });
  // Statistics are complete once the one connection has reported them, and its plans are those of all statements.
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
