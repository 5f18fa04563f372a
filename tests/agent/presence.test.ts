import { type AgentStatus, agents } from "@board/core/schema/agent.sql";
import { eq } from "drizzle-orm";
import { beforeEach, describe, expect, test } from "vitest";
import { listEvents } from "../support/activity.ts";
import { setupWorld } from "../support/fixtures.ts";

const SECOND_MS = 1_000;
const MINUTE_MS = 60_000;

let id: string;
let agent: string;

const world = await setupWorld();
const home = await world.tenant("home");

/** Each test has an agent that has never made a request. */
beforeEach(async () => {
  const board = { name: "Board", description: "A board", gateway_id: home.gateway_id };
  const board_id = (await world.call("POST", "/api/v1/boards", { token: home.owner.token, body: board })).body.id;
  const body = { name: "Ann", board_id };
  const created = (await world.call("POST", "/api/v1/agents", { token: home.owner.token, body })).body;
  ({ id, auth_token: agent } = created);
});

const row = async () => (await world.db.select().from(agents).where(eq(agents.id, id)))[0]!;
const set = (values: Partial<typeof agents.$inferInsert>) => world.db.update(agents).set(values).where(eq(agents.id, id));
const healthz = () => world.call("GET", "/api/v1/agent/healthz", { agent });
const heartbeat = (raw?: string | Uint8Array, headers = {}) =>
  world.call("POST", "/api/v1/agent/heartbeat", { agent, headers, ...(raw === undefined ? {} : { raw }) });
const shown = async () => (await world.call("GET", `/api/v1/agents/${id}`, { token: home.owner.token })).body;
const events = async () => (await listEvents(world, { agent_id: id, event_type: "agent.%" })).map((event) => event.event_type);
const writes = () => world.statements.filter((statement) => /^(insert|update|delete)/i.test(statement));

describe("presence by an agent's requests", () => {
  test("a request puts the agent online, sets the time when it was last seen, and records one event", async () => {
    const before = world.now();
    expect((await healthz()).body).toMatchObject({ ok: true, agent_id: id, status: "online", is_board_lead: false });
    const seen = (await row()).last_seen_at!;
    expect(seen.getTime()).toBeGreaterThanOrEqual(before.getTime());
    expect(seen.getTime()).toBeLessThanOrEqual(world.now().getTime());
    expect(await shown()).toMatchObject({ status: "online", last_seen_at: seen.toISOString() });
    await healthz();
    expect(await events()).toEqual(["agent.connected"]);
  });

  test("a request within 30 seconds of the previous one writes nothing, and a later one updates the time when the agent was last seen", async () => {
    await healthz();
    const first = await row();
    world.elapse(25 * SECOND_MS);
    world.statements.length = 0;
    await healthz();
    expect(writes()).toEqual([]);
    expect(await row()).toEqual(first);
    world.elapse(5 * SECOND_MS);
    await healthz();
    const later = await row();
    expect(later.last_seen_at!.getTime() - first.last_seen_at!.getTime()).toBeGreaterThanOrEqual(30 * SECOND_MS);
    expect(later.updated_at).not.toEqual(first.updated_at);
  });

  test.each<[AgentStatus, AgentStatus, string[]]>([
    ["provisioning", "online", ["agent.connected"]],
    ["ready", "online", ["agent.connected"]],
    ["active", "online", ["agent.connected"]],
    ["offline", "online", ["agent.connected"]],
    ["online", "online", []],
    ["updating", "updating", []],
  ])("a request of an agent in status %s leaves it in status %s", async (status, next, expectedEvents) => {
    await set({ status });
    await healthz();
    expect(await row()).toMatchObject({ status: next, last_seen_at: expect.any(Date) });
    expect(await events()).toEqual(expectedEvents);
  });

  test("a request sets the agent online at once, even when it does not update the time when the agent was last seen", async () => {
    await healthz();
    const first = await row();
    await set({ status: "ready", updated_at: first.updated_at });
    await healthz();
    expect(await row()).toMatchObject({ status: "online", last_seen_at: first.last_seen_at, updated_at: first.updated_at });
  });

  test("a request closes an open wake cycle, no matter how recent the previous request is", async () => {
    await healthz();
    await set({ wake_attempts: 2, checkin_deadline_at: world.now() });
    await healthz();
    expect(await row()).toMatchObject({ wake_attempts: 0, checkin_deadline_at: null });
  });

  test("a request counts as presence whatever its response is", async () => {
    const board = home.board_id;
    for (const [method, path, status] of [
      ["GET", "/api/v1/agent/boards", 200],
      ["GET", `/api/v1/boards/${(await row()).board_id}/memory`, 200],
      ["GET", `/api/v1/agent/boards/${board}`, 403],
      ["GET", `/api/v1/agent/boards/${crypto.randomUUID()}`, 404],
      ["GET", "/api/v1/agent/boards?limit=0", 422],
      ["GET", "/api/v1/agent/boards/no-id", 422],
      ["POST", "/api/v1/agents", 403],
    ] as const) {
      world.elapse(MINUTE_MS);
      const before = (await row()).last_seen_at?.getTime() ?? 0;
      expect((await world.call(method, path, { agent })).status, path).toBe(status);
      expect((await row()).last_seen_at!.getTime(), path).toBeGreaterThan(before);
    }
  });

  test("neither an unauthenticated request nor a person's request counts as presence", async () => {
    await set({ status: "deleting" });
    const before = await row();
    expect((await healthz()).status).toBe(401);
    expect((await world.call("GET", "/api/v1/users/me", { agent })).status).toBe(401);
    await shown();
    expect(await row()).toEqual(before);
  });
});

describe("heartbeats by an agent's own token", () => {
  test("a heartbeat returns the agent and records at most one event in 30 seconds", async () => {
    const answer = await heartbeat();
    expect(answer.body).toEqual(await shown());
    expect(answer.body).toMatchObject({ id, name: "Ann", status: "online", board_id: (await row()).board_id });
    await heartbeat();
    world.elapse(29 * SECOND_MS);
    await heartbeat();
    expect(await events()).toEqual(["agent.connected", "agent.heartbeat"]);
    world.elapse(2 * SECOND_MS);
    await heartbeat();
    expect(await events()).toEqual(["agent.connected", "agent.heartbeat", "agent.heartbeat"]);
  });

  test.each<[string, string | Uint8Array, Record<string, string>]>([
    ["an empty body", "", {}],
    ["JSON", '{"status": "offline", "name": "Other"}', { "content-type": "application/json" }],
    ["broken JSON", "{", { "content-type": "application/json" }],
    ["form data", "a=b", { "content-type": "application/x-www-form-urlencoded" }],
    ["bytes", Uint8Array.from([0xff, 0x00]), { "content-type": "application/octet-stream" }],
    ["a NUL character", '{"a": "\\u0000"}', { "content-type": "nonsense" }],
  ])("a heartbeat ignores its body: %s", async (_what, raw, headers) => {
    const answer = await heartbeat(raw, headers);
    expect([answer.status, answer.body]).toMatchObject([200, { id, name: "Ann", status: "online" }]);
  });
});

describe("the status that clients see", () => {
  test.each<[AgentStatus, AgentStatus]>([
    ["online", "offline"],
    ["active", "offline"],
    ["ready", "ready"],
    ["updating", "updating"],
    ["provisioning", "provisioning"],
  ])(
    "an agent in status %s that was last seen over ten minutes ago is shown %s, without a write",
    async (status, expectedEvents) => {
      await set({ status, last_seen_at: new Date(world.now().getTime() - 10 * MINUTE_MS - SECOND_MS) });
      world.statements.length = 0;
      const list = await world.call("GET", "/api/v1/agents", { token: home.owner.token });
      expect([(await shown()).status, list.body.items.find((item: { id: string }) => item.id === id).status]).toEqual([
        expectedEvents,
        expectedEvents,
      ]);
      expect(writes()).toEqual([]);
      expect((await row()).status).toBe(status);
    },
  );

  test("an agent is shown online until ten minutes after its last request, and again after its next request", async () => {
    await healthz();
    world.elapse(9 * MINUTE_MS);
    expect((await shown()).status).toBe("online");
    world.elapse(MINUTE_MS + SECOND_MS);
    expect((await shown()).status).toBe("offline");
    await healthz();
    expect((await shown()).status).toBe("online");
  });

  test("an agent that was never seen is shown with its stored status", async () => {
    await set({ status: "online" });
    expect(await shown()).toMatchObject({ status: "online", last_seen_at: null });
  });
});
