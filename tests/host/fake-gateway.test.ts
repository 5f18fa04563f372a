import { expect, test } from "vitest";
import type { DialectName } from "../support/fake-gateway/dialect.ts";
import { connectClient, openClient, startHost } from "./raw-client.ts";
import { DIALECTS } from "../support/dialects.ts";

test("the fake gateway refuses unknown keys in frames and params and keeps the connection open", async () => {
  const peer = await connectClient(await startHost({}));
  peer.send({ type: "req", id: "1", method: "health", params: {}, extra: true });
  expect((await peer.answer("1")).error.message).toBe("invalid request frame: at root: unexpected property 'extra'");
  peer.send({ id: 7 });
  expect((await peer.answer("invalid")).error.message).toContain("invalid request frame:");
  expect((await peer.request("agents.create", { name: "" })).error.message).toBe(
    "invalid agents.create params: must have required property 'workspace'; at /name: must NOT have fewer than 1 characters",
  );
});

test("the fake gateway derives agent ids from names and refuses main, duplicates and unknown agents", async () => {
  const peer = await connectClient(await startHost({}));
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

test.each(DIALECTS)("the fake gateway %s accepts only its own workspace files", async (dialect) => {
  const peer = await connectClient(await startHost({ dialect, timings: { stale: 0 } }));
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

test("the fake gateway creates a session with its first patch, keeps labels unique per agent, and ignores deleting a missing session", async () => {
  const peer = await connectClient(await startHost({}));
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

test("the fake gateway sends no second message for a repeated chat.send", async () => {
  const gateway = await startHost({ reply: ({ message }) => `heard ${message}` });
  const peer = await connectClient(gateway);
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

test("the fake gateway accepts config.patch only with the current hash, which every agents.* write changes", async () => {
  const peer = await connectClient(await startHost({}));
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

test("the fake gateway 2026.2.9 replaces the agent list, 2026.2.26 merges it by id, and 2026.9.6 has a map of entries", async () => {
  const ids = async (dialect: DialectName, agents: object) => {
    const peer = await connectClient(await startHost({ dialect, timings: { stale: 0 } }));
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

test("the fake gateway refuses an invalid config value with its issues, and newer dialects report a patch without effect as noop", async () => {
  const gateway = await startHost({ dialect: "2026.5.7" });
  gateway.faults.refused_config_keys.push("includeReasoning");
  const peer = await connectClient(gateway);
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

test("the fake gateway refuses a device's fourth config.patch in a minute, failed ones included, with the time to wait", async () => {
  const gateway = await startHost({ dialect: "2026.2.26" });
  const peer = await connectClient(gateway);
  for (let call = 0; call < 3; call += 1)
    expect((await peer.request("config.patch", { raw: "{}" })).error.code).toBe("INVALID_REQUEST");
  expect((await peer.request("config.patch", { raw: "{}" })).error).toMatchObject({
    code: "UNAVAILABLE",
    retryable: true,
    retryAfterMs: expect.any(Number),
    details: { method: "config.patch", limit: "3 per 60s" },
  });
  const otherDevice = await connectClient(gateway, { device: false });
  expect((await otherDevice.request("config.patch", { raw: "{}" })).error.code).toBe("INVALID_REQUEST");
});

test("rapid writes on the fake gateway 2026.2.26 start from an old configuration, and the last write wins", async () => {
  const gateway = await startHost({ dialect: "2026.2.26", timings: { stale: Number.POSITIVE_INFINITY } });
  const peer = await connectClient(gateway);
  await peer.request("agents.create", { name: "mc-a", workspace: "/a" });
  expect((await peer.request("agents.update", { agentId: "mc-a", name: "A" })).error.message).toBe('agent "mc-a" not found');
  await peer.request("agents.create", { name: "mc-b", workspace: "/b" });
  gateway.host.config.reload();
  expect((await peer.request("agents.list", {})).payload).toMatchObject({ agents: [{ id: "main" }, { id: "mc-b" }] });
});

test("the fake gateway 2026.2.9 restarts after a write: shutdown event, close 1012, then refused and 503 until it is up", async () => {
  const gateway = await startHost({ timings: { restart_delay: 1, downtime: 30, starting: 60_000 } });
  gateway.faults.restart_after_writes = true;
  const peer = await connectClient(gateway);
  expect((await peer.request("agents.create", { name: "mc-a", workspace: "/w" })).ok).toBe(true);
  expect(await peer.event("shutdown")).toMatchObject({ payload: { reason: "gateway restarting", restartExpectedMs: 1500 } });
  expect(await peer.closed).toEqual({ code: 1012, reason: "service restart" });
  await expect(openClient(gateway)).rejects.toThrow(/ECONNREFUSED|ECONNRESET|503/);
  await gateway.restart();
  await expect(openClient(gateway)).rejects.toThrow("503");
});

test("the fake gateway can lose the answer to a request that it executed", async () => {
  const gateway = await startHost({ timings: { downtime: 1, starting: 1 } });
  gateway.faults.lost_responses["agents.create"] = 1;
  const peer = await connectClient(gateway);
  await expect(peer.request("agents.create", { name: "mc-a", workspace: "/w" })).rejects.toThrow("1012");
  expect(gateway.host.config.file()).toMatchObject({ agents: { list: [{ id: "main" }, { id: "mc-a" }] } });
});

test("the fake gateway closes with 1009 after a frame above its announced limit", async () => {
  const peer = await connectClient(await startHost({ dialect: "2026.2.9" }));
  peer.send({ type: "req", id: "1", method: "health", params: { pad: "x".repeat(512 * 1024) } });
  expect((await peer.closed).code).toBe(1009);
});

test("the fake gateway returns on the same port with its state after an outage", async () => {
  const gateway = await startHost({});
  await (await connectClient(gateway)).request("agents.create", { name: "mc-a", workspace: "/w" });
  await gateway.stop();
  await expect(openClient(gateway)).rejects.toThrow("ECONNREFUSED");
  await gateway.start();
  const peer = await connectClient(gateway);
  expect((await peer.request("agents.list", {})).payload).toMatchObject({ agents: [{ id: "main" }, { id: "mc-a" }] });
});
