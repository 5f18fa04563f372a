import type { DialectName } from "@board/local/fake-gateway/dialect";
import { type FakeGateway, startFakeGateway } from "@board/local/fake-gateway/server";
import type { GatewayTarget } from "@board/core/gateway/client";
import { createWorld, type World } from "./world.ts";

/** A host that a test has to itself, so that many tests can wait at the same time. */
export interface OwnHost {
  fake: FakeGateway;
  gateway: { id: string; target: GatewayTarget };
}

export interface Hosts {
  world: World;
  start(dialect: DialectName, timings?: NonNullable<Parameters<typeof startFakeGateway>[0]["timings"]>): Promise<OwnHost>;
  close(): Promise<void>;
}

export async function openHosts(): Promise<Hosts> {
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
