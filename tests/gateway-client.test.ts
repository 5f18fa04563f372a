import { generateKeyPairSync } from "node:crypto";
import { createServer as createTlsServer } from "node:https";
import type { Server as NetServer, AddressInfo } from "node:net";
import { createServer } from "node:net";
import { afterEach, expect, test } from "vitest";
import type { WebSocket } from "ws";
import { WebSocketServer } from "ws";
import type { Gateways, GatewayTarget } from "../packages/core/src/gateway/client.ts";
import { GatewayError } from "../packages/core/src/gateway/client.ts";
import { createDevice, openDevice } from "../packages/core/src/gateway/device.ts";
import { isTransient } from "../packages/core/src/gateway/failure.ts";
import { ensureSession, sendMessage } from "../packages/core/src/gateway/session.ts";
import { readVersion } from "../packages/core/src/gateway/version.ts";
import type { GatewaysOptions } from "../packages/core/src/gateway/websocket.ts";
import { createGateways } from "../packages/core/src/gateway/websocket.ts";
import type { DialectName } from "../packages/local/src/fake-gateway/dialect.ts";
import type { FakeGateway } from "../packages/local/src/fake-gateway/server.ts";
import { startFakeGateway } from "../packages/local/src/fake-gateway/server.ts";

const TOKEN = "shared-token-0815";
const DIALECTS: DialectName[] = ["2026.2.9", "2026.2.26", "2026.5.7", "2026.9.6"];
const device = openDevice(createDevice());

const open: (() => unknown)[] = [];
afterEach(async () => {
  for (const close of open.splice(0).toReversed()) await close();
});

test("a device key opens to the same identity after it was stored", () => {
  const stored = createDevice();
  expect(openDevice(stored).id).toBe(openDevice(stored).id);
  expect(openDevice(stored).id).toMatch(/^[0-9a-f]{64}$/);
  expect(openDevice(stored).public_key).toMatch(/^[\w-]{43}$/);
  const other = generateKeyPairSync("x25519").privateKey.export({ format: "der", type: "pkcs8" }).toString("base64");
  expect(() => openDevice(other)).toThrow("not an Ed25519 private key");
});

test.each(DIALECTS)("device mode connects to %s and says what the contract says", async (dialect) => {
  const { gateway, gateways, target } = await world({ dialect });
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
  const { gateway, gateways, target } = await world({ dialect, insecure_control_ui: true });
  await gateways.hello({ ...target, disable_device_pairing: true });
  expect(gateway.calls).toMatchObject([{ params: { client: { id: "openclaw-control-ui", mode: "ui" } } }]);
  expect(gateway.calls[0]?.params).not.toHaveProperty("device");
});

test.each(DIALECTS)("where %s lets no control UI in without a device, the token alone is tried once", async (dialect) => {
  const { gateway, gateways, target } = await world({ dialect });
  await gateways.hello({ ...target, disable_device_pairing: true });
  expect(gateway.calls.map(({ params }) => (params as { client: { id: string } }).client.id)).toEqual([
    "openclaw-control-ui",
    "gateway-client",
  ]);
  expect(gateway.calls[1]?.params).not.toHaveProperty("device");
});

test("without a challenge the connection is signed without a nonce", async () => {
  const { gateway, gateways, target } = await world({}, { deadlines: { challenge: 10 } });
  gateway.faults.no_challenge = true;
  await gateways.hello(target);
  expect(gateway.calls).toMatchObject([{ params: { device: { id: device.id } } }]);
  expect(gateway.calls).not.toHaveProperty("0.params.device.nonce");
});

test.each([
  [{ token: "wrong" }, "unauthorized: gateway token mismatch (provide gateway auth token)"],
  [{ token: null }, "unauthorized: gateway token missing (provide gateway auth token)"],
])("refused credentials surface in the host's words, after one attempt", async (values, text) => {
  const { gateway, gateways, target } = await world({});
  const error = await failure(gateways.hello({ ...target, ...values }));
  expect(error.message).toBe(text);
  expect(isTransient(error)).toBe(false);
  expect(gateway.connections.opened).toBe(1);
});

test("a device that nobody approved is told so, and connects once it is", async () => {
  const { gateway, gateways, target } = await world({ remote: true });
  const error = await failure(gateways.hello(target));
  expect(error).toMatchObject({ message: "pairing required", failure: { code: "NOT_PAIRED" } });
  const { requestId } = error.failure.details as { requestId: string };
  await gateways.request({ ...target, disable_device_pairing: true }, "device.pair.approve", { requestId });
  expect((await gateways.hello(target)).protocol).toBe(3);
  expect(gateway.host.devices.paired.has(device.id)).toBe(true);
});

test("concurrent calls share one connection and get their own answers, in whatever order they come", async () => {
  const { gateway, gateways, target } = await world({});
  gateway.faults.delays_ms = { health: 80, "agents.list": 20 };
  const order: string[] = [];
  const call = async (method: string) => {
    const payload = await gateways.request(target, method, {});
    order.push(method);
    return payload;
  };
  const [health, agents, sessions] = await Promise.all([call("health"), call("agents.list"), call("sessions.list")]);
  expect(order).toEqual(["sessions.list", "agents.list", "health"]);
  expect(health).toMatchObject({ ok: true });
  expect(agents).toMatchObject({ defaultId: "main" });
  expect(sessions).toMatchObject({ sessions: [] });
  await Promise.all(Array.from({ length: 50 }, () => gateways.request(target, "status", {})));
  expect(gateway.connections.opened).toBe(1);
});

test("other credentials or flags are another connection", async () => {
  const { gateway, gateways, target } = await world({});
  await gateways.hello(target);
  await gateways.hello({ ...target, disable_device_pairing: true });
  await expect(gateways.hello({ ...target, token: "other" })).rejects.toThrow("token mismatch");
  expect(gateway.connections.open).toBeGreaterThanOrEqual(2);
});

test("an idle connection is closed, and the next call opens another", async () => {
  const { gateway, gateways, target } = await world({}, { deadlines: { idle: 5 } });
  await gateways.request(target, "health", {});
  await expect.poll(() => gateway.connections.open).toBe(0);
  await gateways.request(target, "health", {});
  expect(gateway.connections.opened).toBe(2);
});

test("everything a host says about an error arrives", async () => {
  const { gateway, gateways, target } = await world({});
  const error = {
    code: "UNAVAILABLE",
    message: "busy\u0000\u0007 now",
    retryable: true,
    retryAfterMs: 1200,
    details: { limit: "3" },
  };
  gateway.fail("health", error);
  expect(await failure(gateways.request(target, "health", {}))).toMatchObject({
    message: "busy now",
    failure: { code: "UNAVAILABLE", retryable: true, retry_after_ms: 1200, details: { limit: "3" } },
  });
  expect(await gateways.request(target, "health", {})).toMatchObject({ ok: true });
});

test("a host that accepts and then keeps silent ends in a deadline at every stage", async () => {
  const { gateway, gateways, target } = await world({}, { deadlines: { connect: 20, challenge: 5, handshake: 20 } });
  gateway.faults.silent_handshake = true;
  expect(await failure(gateways.hello(target))).toMatchObject({ failure: { timed_out: true } });
  const mute = createServer();
  const url = await listening(mute);
  expect(await failure(gateways.hello({ ...target, url }))).toMatchObject({ failure: { timed_out: true } });
  const lost = create({ deadlines: { connect: 20 }, resolve: () => new Promise(() => {}) });
  expect(await failure(lost.hello({ ...target, url: "ws://gateway.example" }))).toMatchObject({ failure: { timed_out: true } });
});

test("a call without an answer misses its deadline, and the next one goes over a fresh connection", async () => {
  const { gateway, gateways, target } = await world({});
  gateway.faults.delays_ms["agents.list"] = Number.POSITIVE_INFINITY;
  const error = await failure(gateways.request(target, "agents.list", {}, { timeout_ms: 20 }));
  expect(error).toMatchObject({ failure: { timed_out: true } });
  expect(isTransient(error)).toBe(true);
  await gateways.request(target, "health", {});
  expect(gateway.connections.opened).toBe(2);
});

test("a cut connection fails the calls that wait, and the next call connects again", async () => {
  const { gateway, gateways, target } = await world({});
  gateway.faults.delays_ms.health = Number.POSITIVE_INFINITY;
  gateway.faults.cuts.status = 1;
  const waiting = failure(gateways.request(target, "health", {}));
  const cut = await failure(gateways.request(target, "status", {}));
  expect(cut.failure.close_code).toBe(1006);
  expect(await waiting).toBe(cut);
  expect(isTransient(cut)).toBe(true);
  expect(await gateways.request(target, "status", {})).toBeDefined();
});

test("a restart closes with 1012 and its reason, then refuses, then works again", async () => {
  const { gateway, gateways, target } = await world({ timings: { downtime: 1, starting: 60_000 } });
  gateway.faults.lost_answers["agents.create"] = 1;
  const lost = await failure(gateways.request(target, "agents.create", { name: "mc-a", workspace: "/w" }));
  expect(lost).toMatchObject({ message: "Gateway connection closed: 1012 service restart", failure: { close_code: 1012 } });
  await gateway.restart();
  const starting = await failure(gateways.hello(target));
  expect(starting.failure.http_status).toBe(503);
  await gateway.stop();
  const refused = await failure(gateways.hello(target));
  expect(refused.failure.system_code).toBe("ECONNREFUSED");
  expect([lost, starting, refused].map(isTransient)).toEqual([true, true, true]);
});

test("after a shutdown event new calls go elsewhere while the waiting ones may still be answered", async () => {
  const host = await scripted((socket, frame) => {
    if (frame.method === "slow") {
      socket.send(JSON.stringify({ type: "event", event: "shutdown", payload: {} }));
      setTimeout(() => socket.send(JSON.stringify({ type: "res", id: frame.id, ok: true, payload: "late" })), 30);
    } else socket.send(JSON.stringify({ type: "res", id: frame.id, ok: true, payload: host.opened() }));
  });
  const gateways = create();
  const slow = gateways.request(host.target, "slow", {});
  await gateways.request(host.target, "number", {});
  await expect.poll(() => gateways.request(host.target, "number", {})).toBe(2);
  expect(await slow).toBe("late");
});

test("a request above the host's limit fails alone and is never sent", async () => {
  const { gateway, gateways, target } = await world({ max_payload: 4_000 });
  const large = failure(
    gateways.request(target, "agents.files.set", { agentId: "main", name: "SOUL.md", content: "é".repeat(2_000) }),
  );
  const small = gateways.request(target, "health", {});
  expect((await large).message).toMatch(/agents\.files\.set is too large: \d+ bytes, the gateway accepts 4000/);
  expect(isTransient(await large)).toBe(false);
  await small;
  expect(gateway.calls.map(({ method }) => method)).toEqual(["connect", "health"]);
  expect(gateway.connections).toEqual({ opened: 1, open: 1 });
});

test("an answer above 32 MiB ends the connection and is not asked for again", async () => {
  const host = await scripted((socket, frame) =>
    socket.send(JSON.stringify({ id: frame.id, result: "x".repeat(33 * 1024 * 1024) })),
  );
  const error = await failure(create().request(host.target, "config.get", {}));
  expect(isTransient(error)).toBe(false);
});

test("the older form of answers is understood, and null is a payload", async () => {
  const host = await scripted((socket, { id, method }) => {
    if (method === "old") socket.send(JSON.stringify({ id, result: [1] }));
    else if (method === "old.error") socket.send(JSON.stringify({ id, error: { message: "no such thing" } }));
    else if (method === "bare.error") socket.send(JSON.stringify({ type: "res", id, ok: false, error: null }));
    else socket.send(JSON.stringify({ type: "res", id, ok: true, payload: null, error: null }));
  });
  const gateways = create();
  expect(await gateways.request(host.target, "old", {})).toEqual([1]);
  expect((await failure(gateways.request(host.target, "old.error", {}))).message).toBe("no such thing");
  expect((await failure(gateways.request(host.target, "bare.error", {}))).message).toBe("");
  expect(await gateways.request(host.target, "new", {})).toBeNull();
});

test("what is malformed, unknown or meant for others is passed over", async () => {
  const noise = [
    "",
    "null",
    "[]",
    "7",
    '"text"',
    "{",
    "{}",
    '{"type":"res"}',
    '{"type":"res","id":7,"ok":true}',
    '{"type":"event"}',
  ];
  const host = await scripted((socket, { id }) => {
    for (const text of [...noise, '{"type":"res","id":"other","ok":true}', '{"type":"event","event":"new.event","payload":null}'])
      socket.send(text);
    socket.send(Buffer.from([0, 1, 2]));
    socket.send(JSON.stringify({ type: "mystery", id, result: "no" }));
    socket.send(JSON.stringify({ type: "res", id, ok: true, payload: "yes" }));
    socket.send(JSON.stringify({ type: "res", id, ok: true, payload: "twice" }));
  });
  expect(await create().request(host.target, "health", {})).toBe("yes");
});

test("a hello with nothing in it gets sane values, one of an unknown protocol is refused", async () => {
  const bare = await scripted(() => {}, { payload: null });
  expect(await create().hello(bare.target)).toEqual({
    protocol: 3,
    version: null,
    methods: [],
    events: [],
    scopes: null,
    clock_ahead_ms: null,
    max_payload: 512 * 1024,
  });
  const odd = await scripted(() => {}, {
    payload: { protocol: 4, server: { version: 7 }, features: { methods: ["a", 1], events: {} }, policy: { maxPayload: "x" } },
  });
  expect(await create().hello(odd.target)).toMatchObject({ protocol: 4, version: null, methods: ["a"], events: [] });
  const future = await scripted(() => {}, { payload: { protocol: 5 } });
  expect((await failure(create().hello(future.target))).message).toContain("protocol mismatch");
});

test.each([301, 302, 307, 308])("a redirect by %i is not followed", async (status) => {
  const { gateway, gateways, target } = await world({});
  gateway.faults.upgrade_status = status;
  const error = await failure(gateways.hello(target));
  expect(error.failure.http_status).toBe(status);
  expect(isTransient(error)).toBe(false);
});

test("private addresses are refused before anything is dialled, and at every connect anew", async () => {
  const host = await scripted((socket) => socket.close());
  const rules = { allowed_hosts: [], private_addresses_allowed: false };
  expect(await failure(create({ settings: rules }).hello(host.target))).toMatchObject({ failure: { refused_address: true } });
  let address = "127.0.0.1";
  const named = create({
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
  const { gateway, gateways, target } = await world({});
  await gateways.hello({ ...target, url: `${gateway.url.replace("ws:", "http:")}/some/path?x=1#part` });
  for (const url of ["", "gateway.example", "ftp://gateway.example", "ws+unix:///run/gateway", "ws://"]) {
    expect((await failure(gateways.hello({ ...target, url }))).message).toBe("Gateway url is not valid.");
  }
});

test("an unverifiable certificate is refused unless the gateway is marked so", async () => {
  const server = createTlsServer({ key: KEY, cert: CERTIFICATE });
  const url = (await listening(server)).replace("ws:", "wss:");
  answering(new WebSocketServer({ server }));
  const gateways = create();
  const error = await failure(gateways.hello(targetOf(url)));
  expect(error.failure.system_code).toContain("SELF_SIGNED");
  expect(isTransient(error)).toBe(false);
  expect((await gateways.hello({ ...targetOf(url), allow_insecure_tls: true })).protocol).toBe(3);
});

test("the token is in no error, no log and no url, even when a host echoes it", async () => {
  const logged: unknown[] = [];
  const seen: string[] = [];
  const host = await scripted(
    (socket, { id, method }) => {
      const error = { code: "INVALID_REQUEST", message: `bad ${TOKEN}`, details: { given: [TOKEN] } };
      if (method === "close") socket.close(4000, `because ${TOKEN}`);
      else socket.send(JSON.stringify({ type: "res", id, ok: false, error }));
    },
    { seen },
  );
  const gateways = create({ log: (event, fields) => logged.push(event, fields) });
  const refused = await failure(gateways.request(host.target, "echo", {}));
  expect(refused.message).toBe("bad ***");
  expect(refused.failure.details).toEqual({ given: ["***"] });
  const closed = await failure(gateways.request(host.target, "close", {}));
  expect(closed.message).toBe("Gateway connection closed: 4000 because ***");
  expect(logged).toContain("gateway.closed");
  expect(JSON.stringify([logged, seen, refused, closed])).not.toContain(TOKEN);
});

test("closing ends what waits and what would come", async () => {
  const { gateway, gateways, target } = await world({});
  gateway.faults.delays_ms.health = Number.POSITIVE_INFINITY;
  const waiting = failure(gateways.request(target, "health", {}));
  await expect.poll(() => gateway.calls.length).toBe(2);
  await gateways.close();
  expect(isTransient(await waiting)).toBe(false);
  await expect.poll(() => gateway.connections.open).toBe(0);
  expect((await failure(gateways.hello(target))).message).toBe("Gateway connections are closed.");
});

test("a message creates and labels its session, and a label in use is left out", async () => {
  const { gateway, gateways, target } = await world({});
  const name = `${"Long name ".repeat(7)}!`;
  const message = { session_key: "agent:mc-a:main", label: name, message: "hello", deliver: true, idempotency_key: "job-1" };
  await sendMessage(gateways, target, message);
  await sendMessage(gateways, target, message);
  await sendMessage(gateways, target, { ...message, session_key: "agent:mc-a:second", idempotency_key: "job-2" });
  expect(gateway.messages).toMatchObject([
    { session_key: "agent:mc-a:main", message: "hello", deliver: true, idempotency_key: "job-1" },
    { session_key: "agent:mc-a:second", idempotency_key: "job-2" },
  ]);
  expect(gateway.host.sessions.get("agent:mc-a:main")?.label).toBe(name.slice(0, 64));
  expect(gateway.host.sessions.get("agent:mc-a:second")?.label).toBeUndefined();
  expect(await ensureSession(gateways, target, "agent:mc-b:main", null)).toMatchObject({ key: "agent:mc-b:main" });
});

test("a development build's version is read from what last wrote its configuration", async () => {
  const { gateways, target } = await world({ version: "dev" });
  expect((await gateways.hello(target)).version).toBe("dev");
  expect(await readVersion(gateways, target)).toBeNull();
  await gateways.request(target, "agents.create", { name: "mc-a", workspace: "/w" });
  expect(await readVersion(gateways, target)).toBe("2026.2.9");
});

async function start(options: Partial<Parameters<typeof startFakeGateway>[0]>): Promise<FakeGateway> {
  const gateway = await startFakeGateway({ token: TOKEN, ...options });
  open.push(() => gateway.close());
  return gateway;
}

function create(options: Partial<GatewaysOptions> = {}): Gateways {
  const settings = { allowed_hosts: [], private_addresses_allowed: true };
  const gateways = createGateways({ device: async () => device, settings, ...options });
  open.push(() => gateways.close());
  return gateways;
}

function targetOf(url: string): GatewayTarget {
  return { url, token: TOKEN, disable_device_pairing: false, allow_insecure_tls: false };
}

async function world(options: Partial<Parameters<typeof startFakeGateway>[0]>, client: Partial<GatewaysOptions> = {}) {
  const gateway = await start(options);
  return { gateway, gateways: create(client), target: targetOf(gateway.url) };
}

async function failure(call: Promise<unknown>): Promise<GatewayError> {
  const error = await call.then(
    () => null,
    (reason: unknown) => reason,
  );
  expect(error).toBeInstanceOf(GatewayError);
  return error as GatewayError;
}

interface Frame {
  id: string;
  method: string;
}

/** A host that lets everybody in and then answers as a test wants; `seen` collects the urls dialled. */
async function scripted(
  answer: (socket: WebSocket, frame: Frame) => void,
  { payload = {}, seen = [] }: { payload?: unknown; seen?: string[] } = {},
) {
  const server = new WebSocketServer({ host: "127.0.0.1", port: 0 });
  await new Promise((resolve) => server.once("listening", resolve));
  open.push(() => {
    for (const socket of server.clients) socket.terminate();
    server.close();
  });
  const opened = answering(server, answer, payload, seen);
  return { opened, target: targetOf(`ws://127.0.0.1:${(server.address() as AddressInfo).port}`) };
}

function answering(
  server: WebSocketServer,
  answer: (socket: WebSocket, frame: Frame) => void = () => {},
  payload: unknown = {},
  seen: string[] = [],
) {
  let opened = 0;
  server.on("connection", (socket, request) => {
    opened += 1;
    seen.push(request.url ?? "");
    socket.send(JSON.stringify({ type: "event", event: "connect.challenge", payload: { nonce: "n" } }));
    socket.on("message", (data) => {
      const frame = JSON.parse(data.toString()) as Frame;
      if (frame.method === "connect") socket.send(JSON.stringify({ type: "res", id: frame.id, ok: true, payload }));
      else answer(socket, frame);
    });
  });
  return () => opened;
}

/** Listens on a free port of loopback and returns the url. */
async function listening(server: NetServer): Promise<string> {
  open.push(() => server.close());
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  return `ws://127.0.0.1:${(server.address() as AddressInfo).port}`;
}

/** Self-signed for localhost, for these tests alone. */
const CERTIFICATE = `-----BEGIN CERTIFICATE-----
MIIBfzCCASWgAwIBAgIUcb51+mYC4/7Yp9EJNyOUy5HXy2UwCgYIKoZIzj0EAwIw
FDESMBAGA1UEAwwJbG9jYWxob3N0MCAXDTI2MTEyMDEzMTAzN1oYDzIxMjYxMDI3
MTMxMDM3WjAUMRIwEAYDVQQDDAlsb2NhbGhvc3QwWTATBgcqhkjOPQIBBggqhkjO
PQMBBwNCAATMH6xjEKvkuCW/ByoKRUAAGWvnQ2iR1XWFCfZqQ3B/c78A2PBLxUb2
IHtxO70y8QMDCLVCJgxnSbEsIr1Cj/zMo1MwUTAdBgNVHQ4EFgQUBCfHobPhMMS3
1Stbha0KdQcG6qwwHwYDVR0jBBgwFoAUBCfHobPhMMS31Stbha0KdQcG6qwwDwYD
VR0TAQH/BAUwAwEB/zAKBggqhkjOPQQDAgNIADBFAiEAn2DaQg7ySqNm3LpGRoTf
K40FnbgBckLNxVsySyFqDY0CIHmGdYlm2cUa/jJhK1dEWfwSDN0GfJA1D2+N0vGQ
fvMO
-----END CERTIFICATE-----
`;
const KEY = `-----BEGIN PRIVATE KEY-----
MIGHAgEAMBMGByqGSM49AgEGCCqGSM49AwEHBG0wawIBAQQgHap4r0wHkF09q5Gu
4w+CkWLhR9XbBGcpDEbYCd5Ed+uhRANCAATMH6xjEKvkuCW/ByoKRUAAGWvnQ2iR
1XWFCfZqQ3B/c78A2PBLxUb2IHtxO70y8QMDCLVCJgxnSbEsIr1Cj/zM
-----END PRIVATE KEY-----
`;
