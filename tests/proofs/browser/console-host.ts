/** A console whose service reaches a host. The host is a fake one in the process of the test. */
import { expect, vi } from "vitest";
import { startFakeGateway } from "../../support/fake-gateway/server.ts";
import { setup } from "../../support/fixtures.ts";
import { dataFolder } from "../../support/program.ts";
import { setupBrowser, startService, WAIT } from "./console-fixture.ts";
import { freePort } from "../../support/free-port.ts";

const TOKEN = "test-token-123";

/** Opens a browser, and starts a service with the gateway "Pier" for all tests of a file. */
export async function setupHost(environment: Record<string, string> = {}) {
  const browser = await setupBrowser();
  const host = await setup(startFakeGateway({ token: TOKEN }));
  const service = await startService(dataFolder(), await freePort(), { GATEWAY_ALLOWED_HOSTS: "127.0.0.0/8", ...environment });
  const body = { name: "Pier", url: host.url, workspace_root: "/srv/agents", token: TOKEN };
  const { id: gateway_id } = await service.api.post("/api/v1/gateways", { body });
  const hears = (text: string) =>
    vi.waitFor(() => expect(host.messages.map(({ message }) => message)).toContainEqual(expect.stringContaining(text)), WAIT);
  /** Waits until the host has the files of its only agent, and returns the token in them. */
  const readAgentToken = () =>
    vi.waitFor(() => {
      const texts = [...host.host.files.values()].flatMap((files) => [...files.values()].map(({ content }) => content));
      const [, token] = /^AUTH_TOKEN=(\S+)$/m.exec(texts.join("\n")) ?? [];
      expect(token).toBeDefined();
      return token!;
    }, WAIT);
  return { browser, host, service, gateway_id, hears, readAgentToken };
}
