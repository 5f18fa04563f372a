import { expect, test } from "vitest";
import { connect, startProgram } from "./program.ts";
import { setupAccounts } from "./support.ts";

const { openOwner, openMachine } = await setupAccounts({ environment: { BASE_URL: "http://localhost:8000" } });

/** Sends requests as a program does, with the host of their address. */
const request = (url: string | URL, init?: RequestInit): Promise<Response> => {
  const headers = new Headers(init?.headers);
  headers.set("host", new URL(url).host);
  return openMachine()(url, { ...init, headers });
};

test.each(["localhost", "127.0.0.1"])("a program connects to a service on this machine by the name %s", async (name) => {
  const client = await connect(startProgram({ request, origin: `http://${name}:8000` }), await openOwner());
  expect((await client.listTools()).tools.length).toBeGreaterThan(0);
});

test("a forged Host header that names another host does not change the metadata for programs", async () => {
  const answer = await openMachine()("http://localhost:8000/.well-known/oauth-protected-resource/mcp", {
    headers: { host: "evil.example:8000" },
  });
  expect(await answer.json()).toMatchObject({
    resource: "http://localhost:8000/mcp",
    authorization_servers: ["http://localhost:8000/api/auth"],
  });
});
