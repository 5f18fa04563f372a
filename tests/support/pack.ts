import { afterAll, beforeAll } from "vitest";
import { type CodeHost, packOf, startCodeHost } from "./code-host.ts";
import { createWorld, type Tenant, type World } from "./world.ts";

/** A repository of one test's own on the code host, and its pack in the home organization. */
export interface Pack {
  host: CodeHost;
  world: World;
  home: Tenant;
  packs: ReturnType<typeof packOf>;
  repository: string;
  id: string;
}

/** A world that reaches one code host, for all tests of the file that asks. The function returned adds a pack there. */
export function packsOnOneHost(): () => Promise<Pack> {
  let host: CodeHost | undefined;
  let world: World | undefined;
  let home: Tenant;
  let count = 0;
  beforeAll(async () => {
    host = await startCodeHost();
    world = await createWorld({ web: host.web });
    home = await world.tenant("home");
  });
  afterAll(async () => {
    await world?.close();
    await host?.close();
  });
  return async () => {
    const packs = packOf(world!, home);
    const repository = `acme/skills-${++count}`;
    const { id } = await packs.add(repository);
    host!.requests.length = 0;
    return { host: host!, world: world!, home, packs, repository, id };
  };
}

/** What a sync that went well answers. */
export const syncedPack = (pack_id: string, synced: number, created: number, updated: number, warnings: unknown = []) => ({
  ok: true,
  pack_id,
  synced,
  created,
  updated,
  warnings,
});
