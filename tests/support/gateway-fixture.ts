import { type FakeGateway, startFakeGateway } from "./fake-gateway/server.ts";
import { renew, setup, setupWorld } from "./fixtures.ts";
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

/** Creates a world and a host for all tests of a file. Each test has a new tenant and no recorded calls. */
export async function setupHostedTenants(options: WorldOptions = {}): Promise<HostedTenant> {
  const { world, host } = await setup(openGatewayFixture(options));
  const home = renew(async (n) => {
    await host.start();
    const tenant = await world.tenant(`tenant ${n}`, host.url);
    await world.drain();
    host.messages.length = 0;
    host.calls.length = 0;
    host.faults.failures.length = 0;
    return tenant;
  });
  return { world, host, home };
}

/** Creates a world for all tests of a file. Each test has a new tenant, whose owner is `tenant 1` and so on. */
export async function setupTenants(options: WorldOptions = {}): Promise<{ world: World; home: Tenant }> {
  const world = await setupWorld(options);
  return { world, home: renew((n) => world.tenant(`tenant ${n}`)) };
}

/** Returns the lines of the last message to a host, without the random markers of its fence. */
export const lastLines = ({ messages }: FakeGateway): string[] =>
  messages
    .at(-1)!
    .message.replaceAll(/ [0-9a-f]{16} ---/g, " ---")
    .split("\n");

/** Delivers all messages, and returns the first line of each session's last message, by session key. */
export async function receivedHeadings({ world, host }: { world: World; host: FakeGateway }): Promise<Record<string, string>> {
  await world.drain();
  return Object.fromEntries(host.messages.map(({ session_key, message }) => [session_key, message.split("\n")[0]!]));
}
