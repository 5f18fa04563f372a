import { type FakeGateway, startFakeGateway } from "@board/local/fake-gateway/server";
import { skillFile, startCodeHost } from "../../support/code-host.ts";
import type { WorldOptions } from "../../support/world.ts";
import { HOST_TOKEN } from "./secrets.ts";

/** The external systems that generated requests make the service call, on loopback. */
export interface FuzzEnvironment {
  /** The options of its world: limits are low enough to be reached, and streams end after the stored events. */
  world: WorldOptions;
  hosts: { home: FakeGateway; victim: FakeGateway };
  close(): Promise<void>;
}

export async function startFuzzEnvironment(): Promise<FuzzEnvironment> {
  const codeHost = await startCodeHost();
  await codeHost.publish("acme/pack", { "skills/one/SKILL.md": skillFile("one"), "skills/two/SKILL.md": skillFile("two") });
  const hosts = { home: await startQuickHost(), victim: await startQuickHost() };
  return {
    world: {
      web: codeHost.web,
      streams: { max_seconds: 0 },
      environment: { AUTH_FAILURES_PER_MINUTE: "20", WEBHOOK_RATE_PER_MINUTE: "20" },
    },
    hosts,
    async close() {
      for (const server of [hosts.home, hosts.victim, codeHost]) await server.close();
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
