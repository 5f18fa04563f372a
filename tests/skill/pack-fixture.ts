import { afterAll, beforeAll } from "vitest";
import { type CodeHost, createPackCalls, startCodeHost } from "../support/code-host.ts";
import { createWorld, type Tenant, type World } from "../support/world.ts";

/** A separate repository for a test on the code host, and its pack in the home organization. */
export interface TestPack {
  host: CodeHost;
  world: World;
  home: Tenant;
  packs: ReturnType<typeof createPackCalls>;
  repository: string;
  id: string;
}

/** A world with one code host for all tests of the file. The returned function adds a pack there. */
export function setupPacks(): () => Promise<TestPack> {
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
    const packs = createPackCalls(world!, home);
    const repository = `acme/skills-${++count}`;
    const { id } = await packs.add(repository);
    host!.requests.length = 0;
    return { host: host!, world: world!, home, packs, repository, id };
  };
}

/** The response of a successful sync. */
export const packSyncResult = (pack_id: string, synced: number, created: number, updated: number, warnings: unknown = []) => ({
  ok: true,
  pack_id,
  synced,
  created,
  updated,
  warnings,
});
