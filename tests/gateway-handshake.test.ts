import { generateKeyPairSync } from "node:crypto";
import { createServer as createTlsServer } from "node:https";
import { createServer } from "node:net";
import { expect, test } from "vitest";
import { WebSocketServer } from "ws";
import { createDevice, openDevice } from "../packages/core/src/gateway/device.ts";
import { isTransient } from "../packages/core/src/gateway/failure.ts";
import { makeCertificate } from "./support/certificate.ts";
import { DIALECTS } from "./support/dialects.ts";
import {
  admitAll,
  createClient,
  device,
  failure,
  listenOn,
  startPair,
  startScripted,
  targetOf,
  TOKEN,
} from "./support/gateway-client.ts";

test("a device key opens to the same identity after it was stored", () => {
  const stored = createDevice();
  expect(openDevice(stored).id).toBe(openDevice(stored).id);
  expect(openDevice(stored).id).toMatch(/^[0-9a-f]{64}$/);
  expect(openDevice(stored).public_key).toMatch(/^[\w-]{43}$/);
  const other = generateKeyPairSync("x25519").privateKey.export({ format: "der", type: "pkcs8" }).toString("base64");
  expect(() => openDevice(other)).toThrow("not an Ed25519 private key");
});

test.each(DIALECTS)("device mode connects to %s and says what the contract says", async (dialect) => {
  const { gateway, gateways, target } = await startPair({ dialect });
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
  const { gateway, gateways, target } = await startPair({ dialect, insecure_control_ui: true });
  await gateways.hello({ ...target, disable_device_pairing: true });
  expect(gateway.calls).toMatchObject([{ params: { client: { id: "openclaw-control-ui", mode: "ui" } } }]);
  expect(gateway.calls[0]?.params).not.toHaveProperty("device");
});

test.each(DIALECTS)("where %s lets no control UI in without a device, the token alone is tried once", async (dialect) => {
  const { gateway, gateways, target } = await startPair({ dialect });
  await gateways.hello({ ...target, disable_device_pairing: true });
  expect(gateway.calls.map(({ params }) => (params as { client: { id: string } }).client.id)).toEqual([
    "openclaw-control-ui",
    "gateway-client",
  ]);
  expect(gateway.calls[1]?.params).not.toHaveProperty("device");
});

test("without a challenge the connection is signed without a nonce", async () => {
  const { gateway, gateways, target } = await startPair({}, { deadlines: { challenge: 10 } });
  gateway.faults.no_challenge = true;
  await gateways.hello(target);
  expect(gateway.calls).toMatchObject([{ params: { device: { id: device.id } } }]);
  expect(gateway.calls).not.toHaveProperty("0.params.device.nonce");
});

test.each([
  [{ token: "wrong" }, "unauthorized: gateway token mismatch (provide gateway auth token)"],
  [{ token: null }, "unauthorized: gateway token missing (provide gateway auth token)"],
])("refused credentials surface in the host's words, after one attempt", async (values, text) => {
  const { gateway, gateways, target } = await startPair({});
  const error = await failure(gateways.hello({ ...target, ...values }));
  expect(error.message).toBe(text);
  expect(isTransient(error)).toBe(false);
  expect(gateway.connections.opened).toBe(1);
});

test("a device that nobody approved is told so, and connects once it is", async () => {
  const { gateway, gateways, target } = await startPair({ remote: true });
  const error = await failure(gateways.hello(target));
  expect(error).toMatchObject({ message: "pairing required", failure: { code: "NOT_PAIRED" } });
  const { requestId } = error.failure.details as { requestId: string };
  await gateways.request({ ...target, disable_device_pairing: true }, "device.pair.approve", { requestId });
  expect((await gateways.hello(target)).protocol).toBe(3);
  expect(gateway.host.devices.paired.has(device.id)).toBe(true);
});

test("a host that accepts and then keeps silent ends in a deadline at every stage", async () => {
  const { gateway, gateways, target } = await startPair({}, { deadlines: { connect: 20, challenge: 5, handshake: 20 } });
  gateway.faults.silent_handshake = true;
  expect(await failure(gateways.hello(target))).toMatchObject({ failure: { timed_out: true } });
  const mute = createServer();
  const url = await listenOn(mute);
  expect(await failure(gateways.hello({ ...target, url }))).toMatchObject({ failure: { timed_out: true } });
  const lost = createClient({ deadlines: { connect: 20 }, resolve: () => new Promise(() => {}) });
  expect(await failure(lost.hello({ ...target, url: "ws://gateway.example" }))).toMatchObject({ failure: { timed_out: true } });
});

test("a hello with nothing in it gets sane values, one of an unknown protocol is refused", async () => {
  const bare = await startScripted(() => {}, { payload: null });
  expect(await createClient().hello(bare.target)).toEqual({
    protocol: 3,
    version: null,
    methods: [],
    events: [],
    scopes: null,
    clock_ahead_ms: null,
    max_payload: 512 * 1024,
  });
  const odd = await startScripted(() => {}, {
    payload: { protocol: 4, server: { version: 7 }, features: { methods: ["a", 1], events: {} }, policy: { maxPayload: "x" } },
  });
  expect(await createClient().hello(odd.target)).toMatchObject({ protocol: 4, version: null, methods: ["a"], events: [] });
  const future = await startScripted(() => {}, { payload: { protocol: 5 } });
  expect((await failure(createClient().hello(future.target))).message).toContain("protocol mismatch");
});

test.each([301, 302, 307, 308])("a redirect by %i is not followed", async (status) => {
  const { gateway, gateways, target } = await startPair({});
  gateway.faults.upgrade_status = status;
  const error = await failure(gateways.hello(target));
  expect(error.failure.http_status).toBe(status);
  expect(isTransient(error)).toBe(false);
});

test("private addresses are refused before anything is dialled, and at every connect anew", async () => {
  const host = await startScripted((socket) => socket.close());
  const rules = { allowed_hosts: [], private_addresses_allowed: false };
  expect(await failure(createClient({ settings: rules }).hello(host.target))).toMatchObject({
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
  await failure(named.request(target, "bye", {}));
  expect(await failure(named.hello(target))).toMatchObject({
    message: "Gateway host is not allowed.",
    failure: { refused_address: true },
  });
  expect(host.opened()).toBe(1);
});

test("http urls are dialled as ws, other schemes and nonsense not at all", async () => {
  const { gateway, gateways, target } = await startPair({});
  await gateways.hello({ ...target, url: `${gateway.url.replace("ws:", "http:")}/some/path?x=1#part` });
  for (const url of ["", "gateway.example", "ftp://gateway.example", "ws+unix:///run/gateway", "ws://"]) {
    expect((await failure(gateways.hello({ ...target, url }))).message).toBe("Gateway url is not valid.");
  }
});

test("an unverifiable certificate is refused unless the gateway is marked so", async () => {
  const server = createTlsServer(makeCertificate("localhost"));
  const url = (await listenOn(server)).replace("ws:", "wss:");
  admitAll(new WebSocketServer({ server }));
  const gateways = createClient();
  const error = await failure(gateways.hello(targetOf(url)));
  expect(error.failure.system_code).toContain("SELF_SIGNED");
  expect(isTransient(error)).toBe(false);
  expect((await gateways.hello({ ...targetOf(url), allow_insecure_tls: true })).protocol).toBe(3);
});
