import { generateKeyPairSync } from "node:crypto";
import { createServer as createTlsServer } from "node:https";
import { createServer } from "node:net";
import { expect, test } from "vitest";
import { WebSocketServer } from "ws";
import { createDeviceKey, loadDevice } from "../../packages/openclaw/src/wire/device.ts";
import { isTransient } from "../../packages/openclaw/src/wire/gateway-error.ts";
import { makeCertificate } from "../support/certificate.ts";
import { DIALECTS } from "../support/dialects.ts";
import {
  acceptAll,
  createClient,
  device,
  expectGatewayError,
  listenOn,
  startHostWithClient,
  startScriptedHost,
  targetOf,
  TOKEN,
} from "./client-fixture.ts";

test("a device key gives the same identity after it was stored and opened", () => {
  const stored = createDeviceKey();
  expect(loadDevice(stored).id).toBe(loadDevice(stored).id);
  expect(loadDevice(stored).id).toMatch(/^[0-9a-f]{64}$/);
  expect(loadDevice(stored).public_key).toMatch(/^[\w-]{43}$/);
  const other = generateKeyPairSync("x25519").privateKey.export({ format: "der", type: "pkcs8" }).toString("base64");
  expect(() => loadDevice(other)).toThrow("not an Ed25519 private key");
});

test.each(DIALECTS)("device mode connects to %s with the parameters of a paired device", async (dialect) => {
  const { gateway, gateways, target } = await startHostWithClient({ dialect });
  const hello = await gateways.hello(target);
  expect(hello).toMatchObject({ protocol: dialect === "2026.9.6" ? 4 : 3, version: dialect });
  expect(hello.methods).toContain("chat.send");
  expect(hello.max_payload).toBe(gateway.host.dialect.max_payload);
  expect(gateway.calls).toHaveLength(1);
  expect(gateway.calls[0]?.params).toEqual({
    minProtocol: 3,
    maxProtocol: 4,
    role: "operator",
    scopes: ["operator.read", "operator.admin", "operator.approvals", "operator.pairing"],
    client: { id: "gateway-client", version: "1.0.0", platform: expect.any(String), mode: "backend" },
    device: {
      id: device.id,
      publicKey: device.public_key,
      signature: expect.any(String),
      signedAt: expect.any(Number),
      nonce: expect.any(String),
    },
    auth: { token: TOKEN },
  });
});

test.each(DIALECTS.slice(0, 3))("control-ui mode connects to %s with an origin and without a device", async (dialect) => {
  const { gateway, gateways, target } = await startHostWithClient({ dialect, allow_insecure_control_ui: true });
  await gateways.hello({ ...target, disable_device_pairing: true });
  expect(gateway.calls).toMatchObject([{ params: { client: { id: "openclaw-control-ui", mode: "ui" } } }]);
  expect(gateway.calls[0]?.params).not.toHaveProperty("device");
});

test.each(DIALECTS)(
  "where %s refuses a control UI without a device, the connection is tried once with the token alone",
  async (dialect) => {
    const { gateway, gateways, target } = await startHostWithClient({ dialect });
    await gateways.hello({ ...target, disable_device_pairing: true });
    expect(gateway.calls.map(({ params }) => (params as { client: { id: string } }).client.id)).toEqual([
      "openclaw-control-ui",
      "gateway-client",
    ]);
    expect(gateway.calls[1]?.params).not.toHaveProperty("device");
  },
);

test("without a challenge the connection is signed without a nonce", async () => {
  const { gateway, gateways, target } = await startHostWithClient({}, { timeouts: { challenge: 10 } });
  gateway.faults.no_challenge = true;
  await gateways.hello(target);
  expect(gateway.calls).toMatchObject([{ params: { device: { id: device.id } } }]);
  expect(gateway.calls).not.toHaveProperty("0.params.device.nonce");
});

test.each([
  [{ token: "wrong" }, "unauthorized: gateway token mismatch (provide gateway auth token)"],
  [{ token: null }, "unauthorized: gateway token missing (provide gateway auth token)"],
])("refused credentials fail after one attempt with the text of the host: %j gives %j", async (values, text) => {
  const { gateway, gateways, target } = await startHostWithClient({});
  const error = await expectGatewayError(gateways.hello({ ...target, ...values }));
  expect(error.message).toBe(text);
  expect(isTransient(error)).toBe(false);
  expect(gateway.connections.opened).toBe(1);
});

test("an unapproved device is refused with a pairing error, and connects after its approval", async () => {
  const { gateway, gateways, target } = await startHostWithClient({ remote: true });
  const error = await expectGatewayError(gateways.hello(target));
  const { requestId } = error.failure.details as { requestId: string };
  expect(error).toMatchObject({ message: `pairing required (request ${requestId})`, failure: { code: "NOT_PAIRED" } });
  await gateways.request({ ...target, disable_device_pairing: true }, "device.pair.approve", { requestId });
  expect((await gateways.hello(target)).protocol).toBe(3);
  expect(gateway.host.devices.paired.has(device.id)).toBe(true);
});

test("a host that accepts a connection and then stays silent misses a deadline at every step", async () => {
  const { gateway, gateways, target } = await startHostWithClient({}, { timeouts: { connect: 20, challenge: 5, handshake: 20 } });
  gateway.faults.silent_handshake = true;
  expect(await expectGatewayError(gateways.hello(target))).toMatchObject({ failure: { timed_out: true } });
  const silent_server = createServer();
  const url = await listenOn(silent_server);
  expect(await expectGatewayError(gateways.hello({ ...target, url }))).toMatchObject({ failure: { timed_out: true } });
  const lost = createClient({ timeouts: { connect: 20 }, resolve: () => new Promise(() => {}) });
  expect(await expectGatewayError(lost.hello({ ...target, url: "ws://gateway.example" }))).toMatchObject({
    failure: { timed_out: true },
  });
});

test("an empty hello gets default values, and a hello with an unknown protocol is refused", async () => {
  const empty_hello = await startScriptedHost(() => {}, { payload: null });
  expect(await createClient().hello(empty_hello.target)).toEqual({
    protocol: 3,
    version: null,
    methods: [],
    events: [],
    scopes: null,
    clock_ahead_ms: null,
    max_payload: 512 * 1024,
  });
  const odd = await startScriptedHost(() => {}, {
    payload: { protocol: 4, server: { version: 7 }, features: { methods: ["a", 1], events: {} }, policy: { maxPayload: "x" } },
  });
  expect(await createClient().hello(odd.target)).toMatchObject({ protocol: 4, version: null, methods: ["a"], events: [] });
  const future = await startScriptedHost(() => {}, { payload: { protocol: 5 } });
  expect((await expectGatewayError(createClient().hello(future.target))).message).toContain("protocol mismatch");
});

test.each([301, 302, 307, 308])("a redirect with status %i is not followed", async (status) => {
  const { gateway, gateways, target } = await startHostWithClient({});
  gateway.faults.upgrade_status = status;
  const error = await expectGatewayError(gateways.hello(target));
  expect(error.failure.http_status).toBe(status);
  expect(isTransient(error)).toBe(false);
});

test("private addresses are refused before dialling, and checked again at every connect", async () => {
  const host = await startScriptedHost((socket) => socket.close());
  const rules = { allowed_hosts: [], private_addresses_allowed: false };
  expect(await expectGatewayError(createClient({ settings: rules }).hello(host.target))).toMatchObject({
    failure: { refused_address: true },
  });
  let address = "127.0.0.1";
  const named = createClient({
    settings: { ...rules, allowed_hosts: ["127.0.0.1/32"] },
    resolve: async () => [{ address, family: 4 }],
  });
  const target = { ...host.target, url: host.target.url.replace("127.0.0.1", "gateway.example") };
  await named.hello(target);
  address = "127.0.0.2";
  await expectGatewayError(named.request(target, "bye", {}));
  expect(await expectGatewayError(named.hello(target))).toMatchObject({
    message: "Gateway host is not allowed.",
    failure: { refused_address: true },
  });
  expect(host.opened()).toBe(1);
});

test("http urls are dialled as ws, and other schemes and malformed urls not at all", async () => {
  const { gateway, gateways, target } = await startHostWithClient({});
  await gateways.hello({ ...target, url: `${gateway.url.replace("ws:", "http:")}/some/path?x=1#part` });
  for (const url of ["", "gateway.example", "ftp://gateway.example", "ws+unix:///run/gateway", "ws://"]) {
    expect((await expectGatewayError(gateways.hello({ ...target, url }))).message).toBe("Gateway url is not valid.");
  }
});

test("an unverifiable certificate is refused unless the gateway allows insecure TLS", async () => {
  const server = createTlsServer(makeCertificate("localhost"));
  const url = (await listenOn(server)).replace("ws:", "wss:");
  acceptAll(new WebSocketServer({ server }));
  const gateways = createClient();
  const error = await expectGatewayError(gateways.hello(targetOf(url)));
  expect(error.failure.system_code).toContain("SELF_SIGNED");
  expect(isTransient(error)).toBe(false);
  expect((await gateways.hello({ ...targetOf(url), allow_insecure_tls: true })).protocol).toBe(3);
});
