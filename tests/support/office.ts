import { afterAll, beforeAll } from "vitest";
import { type FakeGateway, startFakeGateway } from "../../packages/local/src/fake-gateway/server.ts";
import { createWorld, type Tenant, type World, type WorldOptions } from "./world.ts";

/** A world and a host that is reached from it, on which tenants can have their gateways. */
export interface WorldAndHost {
  world: World;
  host: FakeGateway;
  close: () => Promise<void>;
}

export async function openWorldAndHost(options: WorldOptions = {}): Promise<WorldAndHost> {
  const world = await createWorld(options);
  const host = await startFakeGateway({ token: "test-token-123" });
  return {
    world,
    host,
    async close() {
      await world.close();
      await host.close();
    },
  };
}

/** A tenant whose agents can be told things: the host keeps what they were told. */
export interface Office {
  world: World;
  host: FakeGateway;
  home: Tenant;
}

/**
 * A world and a host for all tests of the file that asks. The function returned opens an office there, for a test of its own:
 * the host has heard nothing yet and fails at nothing. Offices are named `tenant 1`, `tenant 2` and so on after their owners.
 */
export function officesOnOneHost(options: WorldOptions = {}): () => Promise<Office> {
  let hosted: WorldAndHost | undefined;
  let count = 0;
  beforeAll(async () => {
    hosted = await openWorldAndHost(options);
  });
  afterAll(() => hosted?.close());
  return async () => {
    const { world, host } = hosted!;
    const home = await world.tenant(`tenant ${++count}`, host.url);
    await world.drain();
    host.messages.length = 0;
    host.calls.length = 0;
    host.faults.failures.length = 0;
    return { world, host, home };
  };
}

/** The same without a host: one world for the file, and a tenant for each test that asks for one. */
export function tenantsOfOneWorld(options: WorldOptions = {}): () => Promise<{ world: World; home: Tenant }> {
  let world: World | undefined;
  let count = 0;
  beforeAll(async () => {
    world = await createWorld(options);
  });
  afterAll(() => world?.close());
  return async () => ({ world: world!, home: await world!.tenant(`tenant ${++count}`) });
}
