import { afterAll, beforeAll } from "vitest";
import { type FakeGateway, startFakeGateway } from "./fake-gateway/server.ts";
import { createWorld, type Tenant, type World, type WorldOptions } from "./world.ts";

/** A world and a fake host on which its tenants can have gateways. */
export interface GatewayFixture {
  world: World;
  host: FakeGateway;
  close: () => Promise<void>;
}

export async function openGatewayFixture(options: WorldOptions = {}): Promise<GatewayFixture> {
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

/** A tenant with a host that records the messages to its agents. */
export interface HostedTenant {
  world: World;
  host: FakeGateway;
  home: Tenant;
}

/**
 * Starts a world and a host for all tests of a file, and returns a function that adds a tenant for one test. It also
 * clears the host's recorded calls and failures. Owners are named `tenant 1`, `tenant 2` and so on.
 */
export function setupHostedTenants(options: WorldOptions = {}): () => Promise<HostedTenant> {
  let hosted: GatewayFixture | undefined;
  let count = 0;
  beforeAll(async () => {
    hosted = await openGatewayFixture(options);
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

/** Does the same without a host: one world for the file, and a function that adds a tenant. */
export function setupTenants(options: WorldOptions = {}): () => Promise<{ world: World; home: Tenant }> {
  let world: World | undefined;
  let count = 0;
  beforeAll(async () => {
    world = await createWorld(options);
  });
  afterAll(() => world?.close());
  return async () => ({ world: world!, home: await world!.tenant(`tenant ${++count}`) });
}
