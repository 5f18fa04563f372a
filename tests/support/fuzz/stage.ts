import { type FakeGateway, startFakeGateway } from "@board/local/fake-gateway/server";
import { SKILL, startCodeHost } from "../code-host.ts";
import type { WorldOptions } from "../world.ts";
import { HOST_TOKEN } from "./secrets.ts";

/** Everything outside of the service that generated requests make it speak to, on loopback. */
export interface Stage {
  /** How a world is made for it: limits are low enough to be met, and streams end with what is there. */
  world: WorldOptions;
  hosts: { home: FakeGateway; victim: FakeGateway };
  close(): Promise<void>;
}

export async function startStage(): Promise<Stage> {
  const codeHost = await startCodeHost();
  await codeHost.publish("acme/pack", { "skills/one/SKILL.md": SKILL("one"), "skills/two/SKILL.md": SKILL("two") });
  const hosts = { home: await startQuickHost(), victim: await startQuickHost() };
  return {
    world: {
      web: codeHost.web,
      streams: { max_seconds: 0 },
      environment: { AUTH_FAILURES_PER_MINUTE: "20", WEBHOOK_RATE_PER_MINUTE: "20" },
    },
    hosts,
    async close() {
      for (const one of [hosts.home, hosts.victim, codeHost]) await one.close();
    },
  };
}

/** A host that is back soon after a change of its configuration, and takes any number of those in a minute. */
async function startQuickHost(): Promise<FakeGateway> {
  const timings = { restart_delay: 5, downtime: 5, starting: 5, stale: 0 };
  const gateway = await startFakeGateway({ token: HOST_TOKEN, timings });
  gateway.host.patches = new (class extends Map<string, number[]> {
    override get = () => undefined;
  })();
  return gateway;
}
