import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { createHttpClient, locateAllowedReceiver } from "@board/core/http/https-client";
import { type FakeGateway, startFakeGateway } from "../../support/fake-gateway/server.ts";
import { skillFile, startCodeHost } from "../../support/code-host.ts";
import type { WorldOptions } from "../../support/world.ts";
import { HOST_TOKEN } from "./secrets.ts";

/** The external systems that generated requests make the service call, on loopback. */
export interface FuzzEnvironment {
  /** The options of its world: limits are low enough to be reached, and streams end after the stored events. */
  world: WorldOptions;
  hosts: { home: FakeGateway; victim: FakeGateway };
  receiver: { url: string; close(): Promise<void> };
  close(): Promise<void>;
}

export async function startFuzzEnvironment(): Promise<FuzzEnvironment> {
  const codeHost = await startCodeHost();
  await codeHost.publish("acme/pack", { "skills/one/SKILL.md": skillFile("one"), "skills/two/SKILL.md": skillFile("two") });
  const hosts = { home: await startQuickHost(), victim: await startQuickHost() };
  const receiver = await startReceiver();
  const rules = { allowed_hosts: [], private_addresses_allowed: true };
  const receivers = createHttpClient({ locateReceiver: locateAllowedReceiver(undefined, rules) });
  return {
    world: {
      web: {
        get: (...call) => codeHost.web.get(...call),
        post: (...call) => receivers.post(...call),
        checkReceiver: (...call) => receivers.checkReceiver(...call),
      },
      streams: { max_seconds: 0 },
      // The limit per day is off: once reached, it would refuse all later requests, and it asks for longer waits than the others.
      environment: { AUTH_FAILURES_PER_MINUTE: "20", WEBHOOK_RATE_PER_MINUTE: "20" },
      limits: { organizations_per_day: 0 },
    },
    hosts,
    receiver,
    async close() {
      for (const server of [hosts.home, hosts.victim, codeHost, receiver]) await server.close();
    },
  };
}

/**
 * Starts a receiver of events. Sometimes it asks the service to come back later, and more rarely it is gone, which ends its
 * subscription.
 */
async function startReceiver(): Promise<FuzzEnvironment["receiver"]> {
  let count = 0;
  const server = createServer((request, response) => {
    count += 1;
    request.resume();
    if (count % 40 === 0) response.writeHead(410);
    else if (count % 7 === 0) response.writeHead(503, { "retry-after": "60" });
    else response.writeHead(204);
    response.end();
  });
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  const { port } = server.address() as AddressInfo;
  return {
    url: `http://127.0.0.1:${port}/events`,
    async close() {
      server.closeAllConnections();
      await new Promise((resolve) => server.close(resolve));
    },
  };
}

/** Starts a host that restarts quickly after config writes and does not limit them. */
async function startQuickHost(): Promise<FakeGateway> {
  const timings = { restart_delay: 5, downtime: 5, starting: 5, stale: 0 };
  const gateway = await startFakeGateway({ token: HOST_TOKEN, timings });
  gateway.host.recent_patches = new (class extends Map<string, number[]> {
    override get = () => undefined;
  })();
  return gateway;
}
