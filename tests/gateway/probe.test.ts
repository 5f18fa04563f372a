import { activity_events, gateways } from "@board/core/schema/all-tables";
import { setupWorld } from "../support/fixtures.ts";
import { type FakeGateway, startFakeGateway } from "../support/fake-gateway/server.ts";
import { asc } from "drizzle-orm";
import { afterEach, describe, expect, test } from "vitest";
import { WebSocketServer } from "ws";
import { createWorld } from "../support/world.ts";

const TOKEN = "test-token-123";
type Options = Omit<Parameters<typeof startFakeGateway>[0], "token">;

const hosts: { close(): unknown }[] = [];

const world = await setupWorld();
const home = await world.tenant("home");

afterEach(async () => {
  for (const host of hosts.splice(0)) await host.close();
});

async function host(options: Options = {}): Promise<FakeGateway> {
  const started = await startFakeGateway({ token: TOKEN, ...options });
  hosts.push(started);
  return started;
}

/** Starts a host that accepts every connection and answers with this protocol version. Returns its address. */
async function hostOfProtocol(protocol: number): Promise<string> {
  const server = new WebSocketServer({ port: 0, host: "127.0.0.1" });
  hosts.push({ close: () => server.close() });
  server.on("connection", (socket) => {
    socket.on("message", (data) => {
      const { id } = JSON.parse(String(data)) as { id: string };
      socket.send(
        JSON.stringify({ type: "res", id, ok: true, payload: { type: "hello-ok", protocol, server: { version: "2026.9.6" } } }),
      );
    });
  });
  await new Promise((resolve) => server.once("listening", resolve));
  return `ws://127.0.0.1:${(server.address() as { port: number }).port}`;
}

const call = (method: string, path: string, body: object, in_world = world, token = home.owner.token) =>
  in_world.call(method, `/api/v1/gateways${path}`, { token, body });
const register = (url: string, changed: object = {}) =>
  call("POST", "", { name: "Host", url, workspace_root: "/srv", token: TOKEN, ...changed });
const count = () => world.db.$count(gateways);

describe("the probe at registration", () => {
  test.each(["2026.2.9", "2026.5.7", "2026.9.6"] as const)(
    "a host of version %s is connected at registration",
    async (dialect) => {
      const { url, calls } = await host({ dialect });
      expect((await register(url)).body).toMatchObject({ connected: true, version: dialect, last_error: null, url });
      expect(calls.map((one) => one.method)).toEqual(["connect"]);
    },
  );

  test("a host with an http url is probed over ws, and its url is kept", async () => {
    const { url } = await host();
    const http = url.replace("ws:", "http:");
    expect((await register(http)).body).toMatchObject({ connected: true, url: http });
  });

  test("an unreachable host is saved as not connected, with the reason", async () => {
    const down = await host();
    await down.stop();
    const made = await register(down.url);
    expect([made.status, made.body]).toMatchObject([
      200,
      { connected: false, version: null, last_error: expect.stringContaining("ECONNREFUSED") },
    ]);
  });

  test.each<[string, Options, object, string | RegExp]>([
    ["another token", {}, { token: "wrong-token-9876" }, /authentication/i],
    ["no token", {}, { token: null }, /authentication/i],
    ["an unapproved device", { remote: true }, {}, "pairing required"],
  ])("a host that refuses %s is saved as not connected, with the reason", async (_what, options, changed, reason) => {
    const made = await register((await host(options)).url, changed);
    expect([made.status, made.body]).toMatchObject([
      200,
      { connected: false, version: null, last_error: expect.stringMatching(reason) },
    ]);
    expect(made.body.last_error).not.toContain(TOKEN);
  });

  test("a host that requires a scope is saved as not connected, and the reason names the scope", async () => {
    const refusing = await host();
    refusing.failNext("connect", { message: "missing scope: operator.read" });
    const { body } = await register(refusing.url);
    expect(body).toMatchObject({
      connected: false,
      last_error: expect.stringContaining("missing required scope `operator.read`"),
    });
  });

  test.each([
    ["2026.2.8", "not supported"],
    ["2025.12.31", "not supported"],
    ["2026.13.1", "unsupported version format"],
    ["2026.2.0-beta", "unsupported version format"],
  ])("a host of version %s is refused at registration: %s", async (version, text) => {
    const before = await count();
    const answer = await register((await host({ version })).url);
    expect([answer.status, answer.body]).toEqual([422, { detail: expect.stringContaining(text) }]);
    expect(await count()).toBe(before);
  });

  test.each([2, 5])("a host of protocol %i is refused at registration", async (protocol) => {
    const before = await count();
    const answer = await register(await hostOfProtocol(protocol));
    expect([answer.status, answer.body]).toEqual([422, { detail: expect.stringContaining("protocol mismatch") }]);
    expect(await count()).toBe(before);
  });

  test.each(["dev", null])("a development build with the version %j is accepted with a warning", async (version) => {
    const { body } = await register((await host({ version })).url);
    expect(body).toMatchObject({
      connected: true,
      version: null,
      last_error: expect.stringContaining("unable to determine gateway version"),
    });
  });

  test("the version of a development build is read from its configuration", async () => {
    const { body } = await register((await host({ dialect: "2026.9.6", version: "dev" })).url);
    expect(body).toMatchObject({ connected: true, version: "2026.9.6", last_error: null });
  });
});

describe("the probe at a change", () => {
  test("a change of url, token or flags probes the host again, a change of name or root does not", async () => {
    const { url, calls, connections } = await host();
    const { id } = (await register(url)).body;
    const patch = async (changed: object) => (await call("PATCH", `/${id}`, changed)).body;
    const opened = connections.opened;
    expect(await patch({ name: "Other", workspace_root: "/other", token: "********-123" })).toMatchObject({ connected: true });
    expect([calls.length, connections.opened]).toEqual([1, opened]);
    expect(await patch({ token: "wrong-token" })).toMatchObject({
      connected: false,
      version: null,
      last_error: expect.any(String),
    });
    expect(await patch({ token: TOKEN })).toMatchObject({ connected: true, version: "2026.2.9", last_error: null });
    expect(await patch({ disable_device_pairing: true })).toMatchObject({ connected: true });
    expect(calls.length).toBeGreaterThan(3);
  });

  test("a change of the url alone does not send the stored token to the new host, not even when its masked form is sent", async () => {
    const made = (await register((await host()).url, { token: TOKEN })).body;
    const other = await host();
    for (const sent of [{}, { token: made.token }]) {
      const refused = await call("PATCH", `/${made.id}`, { url: other.url, ...sent });
      expect([refused.status, refused.body]).toEqual([
        422,
        { detail: "token must be sent again when url changes its host, port or scheme." },
      ]);
    }
    expect(other.calls).toEqual([]);
    const now = await world.call("GET", `/api/v1/gateways/${made.id}`, { token: home.owner.token });
    expect(now.body).toEqual(made);
  });

  test("a change of the url is accepted with the token, with the token removed, without a stored token, and if only the path differs", async () => {
    const [first, second] = [await host(), await host()];
    const made = (await register(first.url, { token: TOKEN })).body;
    const patch = (body: object) => call("PATCH", `/${made.id}`, body);
    expect((await patch({ url: `${first.url}/socket` })).body.url).toBe(`${first.url}/socket`);
    expect((await patch({ url: first.url.replace("ws:", "http:") })).body.has_token).toBe(true);
    expect((await patch({ url: second.url, token: TOKEN })).body).toMatchObject({ url: second.url, connected: true });
    expect((await patch({ url: first.url, token: null })).body).toMatchObject({ url: first.url, has_token: false });
    expect((await patch({ url: second.url })).body).toMatchObject({ url: second.url, has_token: false });
  });

  test("a change to a host that is too old changes nothing", async () => {
    const made = (await register((await host()).url, { token: TOKEN })).body;
    const refused = await call("PATCH", `/${made.id}`, {
      url: (await host({ version: "2025.1.1" })).url,
      token: TOKEN,
      name: "Other",
    });
    expect(refused.status).toBe(422);
    const now = await world.call("GET", `/api/v1/gateways/${made.id}`, { token: home.owner.token });
    expect(now.body).toEqual(made);
  });
});

test("a change after which the host is connected or unreachable is recorded once in the activity log", async () => {
  const { id } = (await register((await host()).url, { name: "Flip" })).body;
  for (const token of [TOKEN, "wrong-token-1", "wrong-token-2", TOKEN]) await call("PATCH", `/${id}`, { token });
  const events = await world.db.select().from(activity_events).orderBy(asc(activity_events.seq));
  const recorded = events.filter((event) => event.message?.includes("Flip"));
  expect(recorded.map((event) => [event.event_type, event.organization_id])).toEqual([
    ["gateway.disconnected", home.organization_id],
    ["gateway.connected", home.organization_id],
  ]);
});

describe("an address that is not allowed", () => {
  const refused = [422, { detail: "Gateway host is not allowed." }];

  test("a private address is refused at registration, by name, by address and in every notation", async () => {
    const strict = await createWorld({ environment: { GATEWAY_ALLOWED_HOSTS: "192.168.7.0/24" } });
    const { token } = await strict.person("owner");
    for (const url of [
      "ws://127.0.0.1:9",
      "ws://localhost:9",
      "ws://10.0.0.1",
      "ws://0x7f.1:9",
      "ws://2130706433",
      "http://169.254.169.254/latest",
      "wss://[::1]:1",
      "ws://[::ffff:10.0.0.1]",
    ]) {
      const answer = await call("POST", "", { name: "Host", url, workspace_root: "/srv" }, strict, token);
      expect([answer.status, answer.body], url).toEqual(refused);
    }
    expect(await strict.db.$count(gateways)).toBe(0);
    await strict.close();
  });

  test("a private address is refused for a change too", async () => {
    const { id, url } = (await register((await host()).url)).body;
    const answer = await call("PATCH", `/${id}`, { url: "ws://10.0.0.1", token: TOKEN });
    expect([answer.status, answer.body]).toEqual(refused);
    expect((await world.call("GET", `/api/v1/gateways/${id}`, { token: home.owner.token })).body.url).toBe(url);
  });
});

test.each([
  ["2026.05.07", "2026.5.7", 200, undefined],
  ["2026.05.07", "2026.5.6", 422, expect.stringContaining("not supported")],
  ["soon", "2026.5.7", 422, expect.stringContaining("expected calver")],
  [" ", "2026.1.30", 200, undefined],
  [" ", "2026.1.29", 422, expect.stringContaining("2026.1.30")],
])("with the minimum version %j a host of version %s gives %i", async (minimum, version, status, detail) => {
  const other = await createWorld({ environment: { GATEWAY_MIN_VERSION: minimum } });
  const { token } = await other.person("owner");
  const { url } = await host({ version });
  const answer = await call("POST", "", { name: "Host", url, workspace_root: "/srv", token: TOKEN }, other, token);
  expect([answer.status, answer.body.detail]).toEqual([status, detail]);
  await other.close();
});
