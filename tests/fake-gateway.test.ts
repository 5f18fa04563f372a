import { afterEach, expect, test } from "vitest";
import { WebSocket } from "ws";
import { createDevice, openDevice } from "../packages/core/src/gateway/device.ts";
import type { DialectName } from "../packages/local/src/fake-gateway/dialect.ts";
import type { FakeGateway } from "../packages/local/src/fake-gateway/server.ts";
import { startFakeGateway } from "../packages/local/src/fake-gateway/server.ts";

const TOKEN = "fake-token-1";
const SCOPES = ["operator.read", "operator.admin", "operator.approvals", "operator.pairing"];
const DIALECTS: DialectName[] = ["2026.2.9", "2026.2.26", "2026.5.7", "2026.9.6"];
const device = openDevice(createDevice());

const open: { close(): unknown }[] = [];
afterEach(async () => {
  for (const resource of open.splice(0).toReversed()) await resource.close();
});

test.each(DIALECTS)("%s challenges first and lets a signed backend in", async (dialect) => {
  const gateway = await start({ dialect });
  const peer = await dial(gateway);
  expect(await peer.next()).toMatchObject({ type: "event", event: "connect.challenge", payload: { nonce: expect.any(String) } });
  const { payload } = await peer.request("connect", connect({ nonce: peer.nonce() }));
  expect(payload).toMatchObject({ type: "hello-ok", protocol: dialect === "2026.9.6" ? 4 : 3, server: { version: dialect } });
  expect(await peer.next()).toMatchObject({ event: "health" });
});

test("connect comes first and only once", async () => {
  const gateway = await start({});
  const early = await dial(gateway);
  expect((await early.request("health", {})).error.message).toBe("invalid handshake: first request must be connect");
  expect(await early.closed).toEqual({ code: 1008, reason: "invalid handshake: first request must be connect" });
  const peer = await admitted(gateway);
  expect((await peer.request("connect", connect({}))).error.message).toBe("connect is only valid as the first request");
  expect((await peer.request("health", {})).ok).toBe(true);
});

test.each([
  ["a wrong token", { token: "other" }, "unauthorized: gateway token mismatch (provide gateway auth token)"],
  ["no token", { token: null }, "unauthorized: gateway token missing (provide gateway auth token)"],
  ["neither token nor device", { token: null, device: false }, "device identity required"],
  ["an unknown param", { extra: { deviceToken: "x" } }, "invalid connect params: at root: unexpected property 'deviceToken'"],
  ["the nonce of another challenge", { nonce: "other" }, "device nonce mismatch"],
  ["a signature over another token", { signed_token: "other" }, "device signature invalid"],
  ["an old signature", { signed_at: Date.now() - 180_000 }, "device signature expired"],
])("2026.2.26 refuses %s with its own words, in the answer and in the close", async (_case, values, text) => {
  const gateway = await start({ dialect: "2026.2.26" });
  const peer = await dial(gateway);
  await peer.next();
  const { error } = await peer.request("connect", connect({ nonce: peer.nonce(), ...values }));
  expect(error.message).toBe(text);
  expect(await peer.closed).toEqual({ code: 1008, reason: text });
});

test("2026.2.9 takes a signature without nonce and of ten minutes; 2026.2.26 does not", async () => {
  const older = await dial(await start({ dialect: "2026.2.9" }));
  expect((await older.request("connect", connect({ signed_at: Date.now() - 180_000 }))).ok).toBe(true);
  const newer = await dial(await start({ dialect: "2026.2.26" }));
  expect((await newer.request("connect", connect({}))).error.message).toBe(
    "invalid connect params: at /device: must have required property 'nonce'",
  );
});

test.each([
  ["2026.2.9", 4, 4],
  ["2026.9.6", 3, 3],
] as const)("%s closes with 1002 when only protocol %i is offered", async (dialect, minProtocol, maxProtocol) => {
  const peer = await dial(await start({ dialect }));
  await peer.next();
  const { error } = await peer.request("connect", { ...connect({ nonce: peer.nonce() }), minProtocol, maxProtocol });
  expect(error.message).toBe("protocol mismatch");
  expect(await peer.closed).toEqual({ code: 1002, reason: "protocol mismatch" });
});

test("a remote device waits for an operator, under one request id", async () => {
  const gateway = await start({ remote: true });
  const operator = await admitted(gateway, { device: false });
  const ask = async () => {
    const peer = await dial(gateway);
    await peer.next();
    return await peer.request("connect", connect({ nonce: peer.nonce() }));
  };
  const first = await ask();
  const { requestId } = first.error.details as { requestId: string };
  expect(first.error).toMatchObject({ code: "NOT_PAIRED", message: "pairing required" });
  expect((await ask()).error.details).toEqual({ requestId });
  expect((await operator.request("device.pair.list", {})).payload).toMatchObject({ pending: [{ requestId }], paired: [] });
  expect((await operator.request("device.pair.approve", { requestId })).ok).toBe(true);
  expect((await operator.request("device.pair.reject", { requestId })).error.message).toBe("unknown requestId");
  expect((await ask()).ok).toBe(true);
});

test("a control UI without device needs the host's flag, an origin, and a release that still has the flag", async () => {
  const ui = {
    ...connect({ device: false }),
    client: { id: "openclaw-control-ui", version: "1.0.0", platform: "linux", mode: "ui" },
  };
  const answer = async (gateway: FakeGateway, origin?: string) => (await dial(gateway, origin)).request("connect", ui);
  const flagged = await start({ insecure_control_ui: true });
  expect((await answer(flagged, flagged.url.replace("ws:", "http:"))).ok).toBe(true);
  expect((await answer(flagged)).error.message).toContain("origin not allowed");
  expect((await answer(flagged, "http://elsewhere.example")).error.message).toContain("origin not allowed");
  const plain = await start({});
  expect((await answer(plain, "http://localhost:3000")).error.message).toBe(
    "control ui requires HTTPS or localhost (secure context)",
  );
  const latest = await start({ dialect: "2026.9.6", insecure_control_ui: true });
  expect((await answer(latest, "http://localhost")).error.message).toContain("control ui requires device identity");
});

test("scopes decide what a client may call, and unknown methods are told to admins only", async () => {
  const gateway = await start({ dialect: "2026.2.9" });
  const reader = await admitted(gateway, { device: false, scopes: ["operator.read"] });
  expect((await reader.request("agents.list", {})).ok).toBe(true);
  expect((await reader.request("config.get", {})).error.message).toBe("missing scope: operator.admin");
  expect((await reader.request("chat.send", {})).error.message).toBe("missing scope: operator.write");
  expect((await reader.request("nope.method", {})).error.message).toBe("missing scope: operator.admin");
  const admin = await admitted(gateway);
  expect((await admin.request("agents.files.delete", {})).error.message).toBe("unknown method: agents.files.delete");
});

test("an empty list of scopes is everything on 2026.2.9, nothing later, and FORBIDDEN on 2026.9.6", async () => {
  const answers = await Promise.all(
    DIALECTS.map(async (dialect) => {
      const peer = await admitted(await start({ dialect }), { device: false, scopes: [] });
      expect((await peer.request("health", {})).ok).toBe(true);
      return (await peer.request("sessions.list", {})).error?.code ?? "ok";
    }),
  );
  expect(answers).toEqual(["ok", "INVALID_REQUEST", "INVALID_REQUEST", "FORBIDDEN"]);
});

test("frames and params are closed: unknown keys are refused and the connection stays", async () => {
  const peer = await admitted(await start({}));
  peer.send({ type: "req", id: "1", method: "health", params: {}, extra: true });
  expect((await peer.answer("1")).error.message).toBe("invalid request frame: at root: unexpected property 'extra'");
  peer.send({ id: 7 });
  expect((await peer.answer("invalid")).error.message).toContain("invalid request frame:");
  expect((await peer.request("agents.create", { name: "" })).error.message).toBe(
    "invalid agents.create params: must have required property 'workspace'; at /name: must NOT have fewer than 1 characters",
  );
});

test("agent ids come from names, main is reserved, duplicates and strangers are told", async () => {
  const peer = await admitted(await start({}));
  const create = (name: string) => peer.request("agents.create", { name, workspace: "/w" });
  expect((await create("Ops Böt #7")).payload).toMatchObject({ agentId: "ops-b-t-7", name: "Ops Böt #7" });
  expect((await create("ops-b-t-7")).error.message).toBe('agent "ops-b-t-7" already exists');
  expect((await create("###")).error.message).toBe('"main" is reserved');
  expect((await peer.request("agents.update", { agentId: "ghost", name: "x" })).error.message).toBe('agent "ghost" not found');
  expect((await peer.request("agents.delete", { agentId: "main" })).error.message).toBe('"main" cannot be deleted');
  expect((await peer.request("agents.update", { agentId: "OPS-B-T-7", name: "Shown" })).ok).toBe(true);
  expect((await peer.request("agents.list", {})).payload).toMatchObject({
    agents: [{ id: "main" }, { id: "ops-b-t-7", name: "Shown" }],
  });
});

test.each(DIALECTS)("%s accepts only its own workspace files", async (dialect) => {
  const peer = await admitted(await start({ dialect, timings: { stale: 0 } }));
  await peer.request("agents.create", { name: "mc-a", workspace: "/w/a" });
  const set = async (name: string) =>
    (await peer.request("agents.files.set", { agentId: "mc-a", name, content: "x" })).error?.message ?? "ok";
  expect(await set("ROLES.md")).toBe('unsupported file "ROLES.md"');
  expect(await set("TOOLS.md")).toBe(dialect === "2026.9.6" ? 'unsupported file "TOOLS.md"' : "ok");
  expect(await set(" AGENTS.md ")).toBe("ok");
  const { payload } = await peer.request("agents.files.list", { agentId: "mc-a" });
  const names = (payload as { files: { name: string; missing: boolean }[] }).files;
  expect(names).toHaveLength(dialect === "2026.9.6" ? 5 : 8);
  expect(names.filter(({ missing }) => missing).map(({ name }) => name)).toEqual(["MEMORY.md"]);
  expect((await peer.request("agents.files.get", { agentId: "mc-a", name: "MEMORY.md" })).payload).toMatchObject({
    file: { missing: true },
  });
});

test("sessions come with a patch, labels are unique per agent, and a missing one is deleted without complaint", async () => {
  const peer = await admitted(await start({}));
  await peer.request("agents.create", { name: "mc-a", workspace: "/w" });
  const patch = (key: string, label: string) => peer.request("sessions.patch", { key, label });
  expect((await patch("agent:mc-a:main", "Lead")).payload).toMatchObject({ ok: true, entry: { label: "Lead" } });
  expect((await patch("agent:mc-a:other", "Lead")).error.message).toBe("label already in use: Lead");
  expect((await patch("agent:mc-b:main", "Lead")).ok).toBe(true);
  expect((await patch("agent:mc-a:main", "x".repeat(65))).error.message).toContain("must NOT have more than 64 characters");
  expect((await peer.request("sessions.list", {})).payload).toMatchObject({
    sessions: [{ key: "agent:mc-a:main", label: "Lead" }],
  });
  expect((await peer.request("sessions.delete", { key: "agent:mc-x:main" })).payload).toMatchObject({ deleted: false });
  expect((await peer.request("sessions.delete", { key: "main" })).error.message).toBe(
    "Cannot delete the main session (agent:main:main).",
  );
});

test("a repeated chat.send is no second message", async () => {
  const gateway = await start({ reply: ({ message }) => `heard ${message}` });
  const peer = await admitted(gateway);
  const send = () =>
    peer.request("chat.send", { sessionKey: "agent:mc-a:main", message: "hello", deliver: false, idempotencyKey: "k1" });
  expect((await send()).payload).toEqual({ runId: "k1", status: "started" });
  await peer.event("chat");
  expect((await send()).payload).toEqual({ runId: "k1", status: "ok" });
  expect(gateway.messages).toMatchObject([{ session_key: "agent:mc-a:main", message: "hello", idempotency_key: "k1" }]);
  expect((await peer.request("chat.history", { sessionKey: "agent:mc-a:main" })).payload).toMatchObject({
    messages: [{ role: "user" }, { role: "assistant", content: [{ type: "text", text: "heard hello" }] }],
  });
});

test("config.patch wants the hash of this very moment, which every agents.* write changes", async () => {
  const peer = await admitted(await start({}));
  const { hash, config } = await peer.config();
  expect(config.meta).toBeUndefined();
  const patch = (params: object) => peer.request("config.patch", { raw: '{"agents":{"list":[{"id":"main"}]}}', ...params });
  expect((await patch({})).error.message).toBe("config base hash required; re-run config.get and retry");
  await peer.request("agents.create", { name: "mc-a", workspace: "/w" });
  expect((await patch({ baseHash: hash })).error.message).toBe("config changed since last load; re-run config.get and retry");
  const { hash: fresh, config: written } = await peer.config();
  expect(written.meta).toMatchObject({ lastTouchedVersion: "2026.2.9" });
  expect((await patch({ baseHash: fresh, raw: "[]" })).error.message).toBe("config.patch raw must be an object");
  expect((await patch({ baseHash: fresh })).ok).toBe(true);
});

test("2026.2.9 replaces the agent list, 2026.2.26 merges it by id, 2026.9.6 has a map of entries", async () => {
  const ids = async (dialect: DialectName, agents: object) => {
    const peer = await admitted(await start({ dialect, timings: { stale: 0 } }));
    await peer.request("agents.create", { name: "mc-a", workspace: "/a" });
    const { hash } = await peer.config();
    const { error } = await peer.request("config.patch", { raw: JSON.stringify({ agents }), baseHash: hash });
    if (error !== undefined) return error.message;
    return ((await peer.request("agents.list", {})).payload as { agents: { id: string }[] }).agents.map(({ id }) => id);
  };
  const list = { list: [{ id: "main" }, { id: "mc-b", workspace: "/b", heartbeat: { every: "10m" } }] };
  expect(await ids("2026.2.9", list)).toEqual(["main", "mc-b"]);
  expect(await ids("2026.2.26", list)).toEqual(["main", "mc-a", "mc-b"]);
  expect(await ids("2026.9.6", list)).toBe('invalid config: agents: Unrecognized key: "list"');
  expect(await ids("2026.9.6", { entries: { "mc-b": { workspace: "/b" } } })).toEqual(["main", "mc-a", "mc-b"]);
});

test("an invalid value is refused with its issues, and a patch that changes nothing is a noop on newer hosts", async () => {
  const gateway = await start({ dialect: "2026.5.7" });
  gateway.faults.refused_config_keys.push("includeReasoning");
  const peer = await admitted(gateway);
  const patch = async (raw: string) => peer.request("config.patch", { raw, baseHash: (await peer.config()).hash });
  const refused = await patch('{"agents":{"list":[{"id":"main","heartbeat":{"every":"often","includeReasoning":false}}]}}');
  expect(refused.error.details).toEqual({
    issues: [
      { path: "agents.list.0.heartbeat", message: 'Unrecognized key: "includeReasoning"' },
      { path: "agents.list.0.heartbeat.every", message: "invalid duration (use ms, s, m, h)" },
    ],
  });
  expect((await patch('{"agents":{"list":[{"id":"main","workspace":"/m"}]}}')).ok).toBe(true);
  expect((await patch('{"agents":{"list":[{"workspace":"/m","id":"main"}]}}')).payload).toMatchObject({ ok: true, noop: true });
});

test("the fourth config.patch of a minute is refused with the time to wait, failed ones counted, per device", async () => {
  const gateway = await start({ dialect: "2026.2.26" });
  const peer = await admitted(gateway);
  for (let call = 0; call < 3; call += 1)
    expect((await peer.request("config.patch", { raw: "{}" })).error.code).toBe("INVALID_REQUEST");
  expect((await peer.request("config.patch", { raw: "{}" })).error).toMatchObject({
    code: "UNAVAILABLE",
    retryable: true,
    retryAfterMs: expect.any(Number),
    details: { method: "config.patch", limit: "3 per 60s" },
  });
  const other = await admitted(gateway, { device: false });
  expect((await other.request("config.patch", { raw: "{}" })).error.code).toBe("INVALID_REQUEST");
});

test("on 2026.2.26 writes in quick succession work on an old configuration, and the last one wins", async () => {
  const gateway = await start({ dialect: "2026.2.26", timings: { stale: Number.POSITIVE_INFINITY } });
  const peer = await admitted(gateway);
  await peer.request("agents.create", { name: "mc-a", workspace: "/a" });
  expect((await peer.request("agents.update", { agentId: "mc-a", name: "A" })).error.message).toBe('agent "mc-a" not found');
  await peer.request("agents.create", { name: "mc-b", workspace: "/b" });
  gateway.host.config.reload();
  expect((await peer.request("agents.list", {})).payload).toMatchObject({ agents: [{ id: "main" }, { id: "mc-b" }] });
});

test("2026.2.9 restarts after a write: shutdown event, 1012, refused, and 503 until it is up", async () => {
  const gateway = await start({ timings: { restart_delay: 1, downtime: 30, starting: 60_000 } });
  gateway.faults.restart_after_writes = true;
  const peer = await admitted(gateway);
  expect((await peer.request("agents.create", { name: "mc-a", workspace: "/w" })).ok).toBe(true);
  expect(await peer.event("shutdown")).toMatchObject({ payload: { reason: "gateway restarting", restartExpectedMs: 1500 } });
  expect(await peer.closed).toEqual({ code: 1012, reason: "service restart" });
  await expect(dial(gateway)).rejects.toThrow(/ECONNREFUSED|ECONNRESET|503/);
  await gateway.restart();
  await expect(dial(gateway)).rejects.toThrow("503");
});

test("an answer can be lost although its work was done", async () => {
  const gateway = await start({ timings: { downtime: 1, starting: 1 } });
  gateway.faults.lost_answers["agents.create"] = 1;
  const peer = await admitted(gateway);
  await expect(peer.request("agents.create", { name: "mc-a", workspace: "/w" })).rejects.toThrow("1012");
  expect(gateway.host.config.file()).toMatchObject({ agents: { list: [{ id: "main" }, { id: "mc-a" }] } });
});

test("a frame above the announced limit ends the connection with 1009", async () => {
  const peer = await admitted(await start({ dialect: "2026.2.9" }));
  peer.send({ type: "req", id: "1", method: "health", params: { pad: "x".repeat(512 * 1024) } });
  expect((await peer.closed).code).toBe(1009);
});

test("after an outage the gateway is back on its port with all it knew", async () => {
  const gateway = await start({});
  await (await admitted(gateway)).request("agents.create", { name: "mc-a", workspace: "/w" });
  await gateway.stop();
  await expect(dial(gateway)).rejects.toThrow("ECONNREFUSED");
  await gateway.start();
  const peer = await admitted(gateway);
  expect((await peer.request("agents.list", {})).payload).toMatchObject({ agents: [{ id: "main" }, { id: "mc-a" }] });
});

interface Answer {
  ok: boolean;
  payload: unknown;
  error: { code: string; message: string; details?: unknown };
}

async function start(options: Partial<Parameters<typeof startFakeGateway>[0]>): Promise<FakeGateway> {
  const gateway = await startFakeGateway({ token: TOKEN, ...options });
  open.push(gateway);
  return gateway;
}

async function admitted(gateway: FakeGateway, values: Parameters<typeof connect>[0] = {}) {
  const peer = await dial(gateway);
  await peer.next();
  const { error } = await peer.request("connect", connect({ nonce: peer.nonce(), ...values }));
  expect(error).toBeUndefined();
  await peer.next();
  return peer;
}

/** Params of connect, right but for what `values` say. */
function connect(values: {
  nonce?: string | null;
  token?: string | null;
  device?: boolean;
  scopes?: string[];
  signed_at?: number;
  signed_token?: string;
  extra?: object;
}): object {
  const { nonce = null, token = TOKEN, scopes = SCOPES, signed_at = Date.now() } = values;
  const claim = { client_id: "gateway-client", client_mode: "backend", role: "operator", scopes, signed_at, nonce };
  const signature = device.sign({ ...claim, token: values.signed_token ?? token });
  const identity = {
    id: device.id,
    publicKey: device.public_key,
    signature,
    signedAt: signed_at,
    ...(nonce === null ? {} : { nonce }),
  };
  return {
    minProtocol: 3,
    maxProtocol: 4,
    role: "operator",
    scopes,
    client: { id: "gateway-client", version: "1.0.0", platform: "linux", mode: "backend" },
    ...(values.device === false ? {} : { device: identity }),
    ...(token === null ? {} : { auth: { token } }),
    ...values.extra,
  };
}

/** A bare client: sends frames, keeps what comes in until somebody asks for it. */
async function dial(gateway: FakeGateway, origin?: string) {
  const socket = new WebSocket(gateway.url, origin === undefined ? {} : { origin });
  open.push({ close: () => socket.terminate() });
  const frames: Record<string, unknown>[] = [];
  const waiting = new Set<() => void>();
  let nonce: string | null = null;
  const wake = (): void => {
    for (const look of Array.from(waiting)) look();
  };
  socket.on("message", (data) => {
    const frame = JSON.parse(data.toString()) as { event?: string; payload?: { nonce: string } };
    if (frame.event === "connect.challenge") nonce = frame.payload?.nonce ?? null;
    frames.push({ ...frame });
    wake();
  });
  const closed = new Promise<{ code: number; reason: string }>((resolve) => {
    socket.on("close", (code, reason) => {
      resolve({ code, reason: reason.toString() });
      wake();
    });
  });
  await new Promise<void>((resolve, reject) => {
    socket.on("open", resolve);
    socket.on("error", reject);
  });
  function take(wanted: (frame: Record<string, unknown>) => boolean): Promise<Record<string, unknown>> {
    return new Promise((resolve, reject) => {
      const look = (): void => {
        const position = frames.findIndex(wanted);
        if (position === -1 && socket.readyState !== WebSocket.CLOSED) return;
        waiting.delete(look);
        const [frame] = position === -1 ? [] : frames.splice(position, 1);
        if (frame !== undefined) resolve(frame);
        else void closed.then(({ code }) => reject(new Error(`closed ${code}`)));
      };
      waiting.add(look);
      look();
    });
  }
  const answer = async (id: string): Promise<Answer> => (await take((frame) => frame.id === id)) as unknown as Answer;
  let count = 0;
  const request = (method: string, params: object): Promise<Answer> => {
    count += 1;
    socket.send(JSON.stringify({ type: "req", id: `r${count}`, method, params }));
    return answer(`r${count}`);
  };
  return {
    closed,
    answer,
    request,
    nonce: () => nonce,
    send: (frame: object) => socket.send(JSON.stringify(frame)),
    next: () => take(() => true),
    event: (name: string) => take((frame) => frame.event === name),
    config: async () => (await request("config.get", {})).payload as { hash: string; config: Record<string, unknown> },
  };
}
