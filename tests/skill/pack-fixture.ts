import { createPackCalls, startCodeHost } from "../support/code-host.ts";
import { setup, setupWorld } from "../support/fixtures.ts";

/** Opens a service with a code host for all tests of a file. `openPack` adds the pack of a repository that has no files yet. */
export async function setupPacks() {
  const host = await setup(startCodeHost());
  const world = await setupWorld({ web: host.web });
  const home = await world.tenant("home");
  const packs = createPackCalls(world, home);
  let count = 0;
  const openPack = async () => {
    const repository = `acme/skills-${++count}`;
    const { id } = await packs.add(repository);
    host.requests.length = 0;
    return { repository, id };
  };
  return { host, world, home, packs, openPack };
}

/** Returns the expected response of a successful sync. */
export const packSyncResult = (pack_id: string, synced: number, created: number, updated: number, warnings: unknown = []) => ({
  ok: true,
  pack_id,
  synced,
  created,
  updated,
  warnings,
});
