import { expect, test } from "vitest";
import { isTransient } from "../../packages/openclaw/src/wire/gateway-error.ts";
import { ensureSession, sendMessage } from "../../packages/openclaw/src/host/session.ts";
import { fetchVersion } from "../../packages/openclaw/src/wire/version.ts";
import { createClient, expectGatewayError, startHostWithClient, startScriptedHost, TOKEN } from "./client-fixture.ts";

test("concurrent calls share one connection and get their own responses, in any order", async () => {
  const { gateway, gateways, target } = await startHostWithClient({});
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

test("different credentials or flags use a different connection", async () => {
  const { gateway, gateways, target } = await startHostWithClient({});
  await gateways.hello(target);
  await gateways.hello({ ...target, disable_device_pairing: true });
  await expect(gateways.hello({ ...target, token: "other" })).rejects.toThrow("token mismatch");
  expect(gateway.connections.open).toBeGreaterThanOrEqual(2);
});

test("an idle connection is closed, and the next call opens another", async () => {
  const { gateway, gateways, target } = await startHostWithClient({}, { timeouts: { idle: 5 } });
  await gateways.request(target, "health", {});
  await expect.poll(() => gateway.connections.open, { timeout: 10_000 }).toBe(0);
  await gateways.request(target, "health", {});
  expect(gateway.connections.opened).toBe(2);
});

test("every detail of a host's error reaches the caller", async () => {
  const { gateway, gateways, target } = await startHostWithClient({});
  const error = {
    code: "UNAVAILABLE",
    message: "busy\u0000\u0007 now",
    retryable: true,
    retryAfterMs: 1200,
    details: { limit: "3" },
  };
  gateway.failNext("health", error);
  expect(await expectGatewayError(gateways.request(target, "health", {}))).toMatchObject({
    message: "busy now",
    failure: { code: "UNAVAILABLE", retryable: true, retry_after_ms: 1200, details: { limit: "3" } },
  });
  expect(await gateways.request(target, "health", {})).toMatchObject({ ok: true });
});

test("a call without a response misses its deadline, and the next call uses a new connection", async () => {
  const { gateway, gateways, target } = await startHostWithClient({});
  gateway.faults.delays_ms["agents.list"] = Number.POSITIVE_INFINITY;
  const error = await expectGatewayError(gateways.request(target, "agents.list", {}, { timeout_ms: 20 }));
  expect(error).toMatchObject({ failure: { timed_out: true } });
  expect(isTransient(error)).toBe(true);
  await gateways.request(target, "health", {});
  expect(gateway.connections.opened).toBe(2);
});

test("when a connection is cut, the waiting calls fail, and the next call connects again", async () => {
  const { gateway, gateways, target } = await startHostWithClient({});
  gateway.faults.delays_ms.health = Number.POSITIVE_INFINITY;
  gateway.faults.dropped_connections.status = 1;
  const waiting = expectGatewayError(gateways.request(target, "health", {}));
  const cut = await expectGatewayError(gateways.request(target, "status", {}));
  expect(cut.failure.close_code).toBe(1006);
  expect(await waiting).toBe(cut);
  expect(isTransient(cut)).toBe(true);
  expect(await gateways.request(target, "status", {})).toBeDefined();
});

test("calls to a host that restarts fail with 1012 and the reason, with 503 or with ECONNREFUSED, and all of these can be retried", async () => {
  const { gateway, gateways, target } = await startHostWithClient({ timings: { downtime: 1, starting: 60_000 } });
  gateway.faults.lost_responses["agents.create"] = 1;
  const lost = await expectGatewayError(gateways.request(target, "agents.create", { name: "mc-a", workspace: "/w" }));
  expect(lost).toMatchObject({ message: "Gateway connection closed: 1012 service restart", failure: { close_code: 1012 } });
  await gateway.restart();
  const starting = await expectGatewayError(gateways.hello(target));
  expect(starting.failure.http_status).toBe(503);
  await gateway.stop();
  const refused = await expectGatewayError(gateways.hello(target));
  expect(refused.failure.system_code).toBe("ECONNREFUSED");
  expect([lost, starting, refused].map(isTransient)).toEqual([true, true, true]);
});

test("after a shutdown event new calls use another connection while waiting calls may still be answered", async () => {
  const host = await startScriptedHost((socket, frame) => {
    if (frame.method === "slow") {
      socket.send(JSON.stringify({ type: "event", event: "shutdown", payload: {} }));
      setTimeout(() => socket.send(JSON.stringify({ type: "res", id: frame.id, ok: true, payload: "late" })), 30);
    } else socket.send(JSON.stringify({ type: "res", id: frame.id, ok: true, payload: host.opened() }));
  });
  const gateways = createClient();
  const slow = gateways.request(host.target, "slow", {});
  await gateways.request(host.target, "number", {});
  await expect.poll(() => gateways.request(host.target, "number", {}), { timeout: 10_000 }).toBe(2);
  expect(await slow).toBe("late");
});

test("a request above the host's limit fails without affecting others, and is never sent", async () => {
  const { gateway, gateways, target } = await startHostWithClient({ max_payload: 4_000 });
  const large = expectGatewayError(
    gateways.request(target, "agents.files.set", { agentId: "main", name: "SOUL.md", content: "é".repeat(2_000) }),
  );
  const small = gateways.request(target, "health", {});
  expect((await large).message).toMatch(/agents\.files\.set is too large: \d+ bytes, the gateway accepts 4000/);
  expect(isTransient(await large)).toBe(false);
  await small;
  expect(gateway.calls.map(({ method }) => method)).toEqual(["connect", "health"]);
  expect(gateway.connections).toEqual({ opened: 1, open: 1 });
});

test("a response above 8 MiB ends the connection and is not requested again", async () => {
  const host = await startScriptedHost((socket, frame) =>
    socket.send(JSON.stringify({ id: frame.id, result: "x".repeat(9 * 1024 * 1024) })),
  );
  const error = await expectGatewayError(createClient().request(host.target, "config.get", {}));
  expect(isTransient(error)).toBe(false);
});

test("responses of the older format are understood, and null is a valid payload", async () => {
  const host = await startScriptedHost((socket, { id, method }) => {
    if (method === "old") socket.send(JSON.stringify({ id, result: [1] }));
    else if (method === "old.error") socket.send(JSON.stringify({ id, error: { message: "no such thing" } }));
    else if (method === "bare.error") socket.send(JSON.stringify({ type: "res", id, ok: false, error: null }));
    else socket.send(JSON.stringify({ type: "res", id, ok: true, payload: null, error: null }));
  });
  const gateways = createClient();
  expect(await gateways.request(host.target, "old", {})).toEqual([1]);
  expect((await expectGatewayError(gateways.request(host.target, "old.error", {}))).message).toBe("no such thing");
  expect((await expectGatewayError(gateways.request(host.target, "bare.error", {}))).message).toBe("");
  expect(await gateways.request(host.target, "new", {})).toBeNull();
});

test("messages that are malformed, unknown or for other clients are ignored", async () => {
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
  const host = await startScriptedHost((socket, { id }) => {
    for (const text of [...noise, '{"type":"res","id":"other","ok":true}', '{"type":"event","event":"new.event","payload":null}'])
      socket.send(text);
    socket.send(Buffer.from([0, 1, 2]));
    socket.send(JSON.stringify({ type: "mystery", id, result: "no" }));
    socket.send(JSON.stringify({ type: "res", id, ok: true, payload: "yes" }));
    socket.send(JSON.stringify({ type: "res", id, ok: true, payload: "twice" }));
  });
  expect(await createClient().request(host.target, "health", {})).toBe("yes");
});

test("the token is in no error, no log line and no url, even when a host echoes it", async () => {
  const logged: unknown[] = [];
  const seen: string[] = [];
  const host = await startScriptedHost(
    (socket, { id, method }) => {
      const error = { code: "INVALID_REQUEST", message: `bad ${TOKEN}`, details: { given: [TOKEN] } };
      if (method === "close") socket.close(4000, `because ${TOKEN}`);
      else socket.send(JSON.stringify({ type: "res", id, ok: false, error }));
    },
    { seen },
  );
  const gateways = createClient({ log: (event, fields) => logged.push(event, fields) });
  const refused = await expectGatewayError(gateways.request(host.target, "echo", {}));
  expect(refused.message).toBe("bad ***");
  expect(refused.failure.details).toEqual({ given: ["***"] });
  const closed = await expectGatewayError(gateways.request(host.target, "close", {}));
  expect(closed.message).toBe("Gateway connection closed: 4000 because ***");
  expect(logged).toContain("gateway.connection_closed");
  expect(JSON.stringify([logged, seen, refused, closed])).not.toContain(TOKEN);
});

test("closing the client fails waiting calls and later ones", async () => {
  const { gateway, gateways, target } = await startHostWithClient({});
  gateway.faults.delays_ms.health = Number.POSITIVE_INFINITY;
  const waiting = expectGatewayError(gateways.request(target, "health", {}));
  await expect.poll(() => gateway.calls.length, { timeout: 10_000 }).toBe(2);
  await gateways.close();
  expect(isTransient(await waiting)).toBe(false);
  await expect.poll(() => gateway.connections.open, { timeout: 10_000 }).toBe(0);
  expect((await expectGatewayError(gateways.hello(target))).message).toBe("Gateway connections are closed.");
});

test("a message creates and labels its session, without the label if another session uses it", async () => {
  const { gateway, gateways, target } = await startHostWithClient({});
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

test("the version of a development build is read from the version that last wrote its configuration", async () => {
  const { gateways, target } = await startHostWithClient({ version: "dev" });
  expect((await gateways.hello(target)).version).toBe("dev");
  expect(await fetchVersion(gateways, target)).toBeNull();
  await gateways.request(target, "agents.create", { name: "mc-a", workspace: "/w" });
  expect(await fetchVersion(gateways, target)).toBe("2026.2.9");
});
