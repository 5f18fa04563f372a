import type { Webhook } from "@board/core/webhook/webhook";
import { afterEach } from "vitest";
import { type GatewayFixture, type HostedTenant, openGatewayFixture } from "./gateway-fixture.ts";
import { createWebhook } from "./webhook.ts";

/** A webhook for the lead of a tenant with a host that records the messages to its agents. */
interface HostedWebhook extends HostedTenant {
  webhook: Webhook;
}

/** Returns a function that starts a separate world for one test, with a host and a webhook. They are closed after the test. */
export function setupHostedWebhooks(): () => Promise<HostedWebhook> {
  let hosted: GatewayFixture | undefined;
  afterEach(async () => {
    await hosted?.close();
    hosted = undefined;
  });
  return async () => {
    hosted = await openGatewayFixture();
    const { world, host } = hosted;
    const home = await world.tenant("home", host.url);
    const webhook = await createWebhook(world, home);
    await world.drain();
    host.messages.length = 0;
    return { world, host, home, webhook };
  };
}
