import { createSyncFixture, type SyncFixture } from "./sync-fixture.ts";
import { createWorld, type Tenant, type World, type WorldOptions } from "./world.ts";

/** A world with a host and a tenant whose agents are provisioned on it, for all tests of a file. */
interface SyncWorld {
  world: World;
  fixture: SyncFixture;
  home: Tenant;
  close: () => Promise<void>;
}

export async function openSyncWorld(options: WorldOptions = {}): Promise<SyncWorld> {
  const world = await createWorld(options);
  const fixture = await createSyncFixture(world, "2026.5.7");
  const close = async () => {
    await world.close();
    await fixture.fake.close();
  };
  return { world, fixture, home: fixture.home, close };
}
