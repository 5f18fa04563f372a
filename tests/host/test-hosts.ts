import type { DialectName } from "../support/fake-gateway/dialect.ts";
import { type FakeGateway, startFakeGateway } from "../support/fake-gateway/server.ts";
import type { GatewayTarget } from "@board/core/context/gateways";
import { createWorld, type World } from "../support/world.ts";

/** A host for a single test. Each test has its own host, so that many tests can wait at the same time. */
export interface TestHost {
  fake: FakeGateway;
  gateway: { id: string; target: GatewayTarget };
}

export interface TestHosts {
  world: World;
  start(dialect: DialectName, timings?: NonNullable<Parameters<typeof startFakeGateway>[0]["timings"]>): Promise<TestHost>;
  close(): Promise<void>;
}

export async function openTestHosts(): Promise<TestHosts> {
  const world = await createWorld();
  const running: FakeGateway[] = [];
  return {
    world,
    async start(dialect, timings = {}) {
      const fake = await startFakeGateway({
        token: "test-token-123",
        dialect,
        timings: { downtime: 50, starting: 20, ...timings },
      });
      running.push(fake);
      const target = { url: fake.url, token: "test-token-123", disable_device_pairing: false, allow_insecure_tls: false };
      return { fake, gateway: { id: crypto.randomUUID(), target } };
    },
    async close() {
      await world.close();
      await Promise.all(running.map((fake) => fake.close()));
    },
  };
}
