import { setStage, type SyncStage } from "./sync.ts";
import { createWorld, type Tenant, type World, type WorldOptions } from "./world.ts";

/** A world with a host and a tenant whose agents have their place on it, for all tests of a file. */
export interface OpenStage {
  world: World;
  stage: SyncStage;
  home: Tenant;
  close: () => Promise<void>;
}

export async function openStage(options: WorldOptions = {}): Promise<OpenStage> {
  const world = await createWorld(options);
  const stage = await setStage(world, "2026.5.7");
  const close = async () => {
    await world.close();
    await stage.fake.close();
  };
  return { world, stage, home: stage.home, close };
}
