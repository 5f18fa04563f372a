import { type AgentStatus, agents } from "@board/core/schema/agent.sql";
import { eq } from "drizzle-orm";
import { beforeEach, describe, expect, test } from "vitest";
import { listEvents } from "../support/activity.ts";
import { type CallOptions, statusAndBody } from "../support/http.ts";
import { setupWorld } from "../support/fixtures.ts";

const MINUTE_MS = 60_000;
const MISSED = [404, { detail: "Not Found" }];

let board_id: string;
let id: string;
let token: string;

const world = await setupWorld();
const home = await world.tenant("home");
const abroad = await world.tenant("abroad");

beforeEach(async () => {
  const board = { name: "Board", description: "A board", gateway_id: home.gateway_id, max_agents: 3 };
  board_id = (await world.call("POST", "/api/v1/boards", { token: home.owner.token, body: board })).body.id;
  const body = { name: "Ann", board_id };
  ({ id, auth_token: token } = (await world.call("POST", "/api/v1/agents", { token: home.owner.token, body })).body);
});

const owner = { token: home.owner.token };
const own = (): CallOptions => ({ agent: token });
const beat = (body: object = {}, as: CallOptions = owner, agent_id = id) =>
  world.call("POST", `/api/v1/agents/${agent_id}/heartbeat`, { ...as, body });
const beatByName = (body: object, as: CallOptions = owner) => world.call("POST", "/api/v1/agents/heartbeat", { ...as, body });
const row = async (agent_id = id) => (await world.db.select().from(agents).where(eq(agents.id, agent_id)))[0]!;
const set = (values: Partial<typeof agents.$inferInsert>) => world.db.update(agents).set(values).where(eq(agents.id, id));
const events = async () => listEvents(world, { agent_id: id, event_type: "agent.%" });
const types = async () => (await events()).map((event) => event.event_type);

describe("heartbeats by agent id", () => {
  test.each(["online", "active", "ready", "offline"] as const)(
    "a heartbeat sets the status %s and the time when the agent was last seen",
    async (status) => {
      const before = world.now();
      const answer = (await beat({ status })).body;
      expect(answer).toMatchObject({ id, name: "Ann", status, board_id });
      expect(await row()).toMatchObject({ status, last_seen_at: new Date(answer.last_seen_at) });
      expect((await row()).last_seen_at!.getTime()).toBeGreaterThanOrEqual(before.getTime());
    },
  );

  test("a heartbeat without a status sets the status online", async () => {
    for (const body of [{}, { status: null }]) {
      await set({ status: "ready" });
      expect((await beat(body)).body.status).toBe("online");
    }
    await set({ status: "ready" });
    const bare = await world.call("POST", `/api/v1/agents/${id}/heartbeat`, owner);
    expect(bare.body.status).toBe("online");
  });

  test.each(["updating", "deleting", "provisioning", "Online", "", 5])(
    "a heartbeat with the status %j is refused",
    async (status) => {
      const answer = await beat({ status });
      expect([answer.status, answer.body.detail]).toMatchObject([422, [{ loc: ["body", "status"] }]]);
      expect(await row()).toMatchObject({ status: "provisioning", last_seen_at: null });
    },
  );

  test.each<AgentStatus>(["updating", "deleting"])("a heartbeat keeps the status %s", async (status) => {
    await set({ status });
    expect((await beat({ status: "active" })).body).toMatchObject({ status, last_seen_at: expect.any(String) });
  });

  test("heartbeats record every change of the status, and otherwise at most one event in 30 seconds", async () => {
    await beat({ status: "online" });
    await beat({ status: "active" });
    await beat({ status: "offline" });
    await beat({ status: "offline" });
    expect(await types()).toEqual(["agent.connected", "agent.heartbeat", "agent.disconnected"]);
    expect(await events()).toMatchObject(Array(3).fill({ board_id, user_id: expect.any(String) }));
    world.elapse(MINUTE_MS);
    await beat({ status: "offline" });
    expect((await types()).slice(3)).toEqual(["agent.heartbeat"]);
  });

  test("heartbeats update the agent's times at most once in 30 seconds and otherwise write only status changes", async () => {
    await beat();
    const first = await row();
    await beat();
    expect(await row()).toEqual(first);
    await beat({ status: "active" });
    const { last_seen_at, updated_at } = first;
    expect(await row()).toMatchObject({ status: "active", last_seen_at, updated_at });
    world.elapse(MINUTE_MS);
    await beat({ status: "active" });
    expect((await row()).last_seen_at!.getTime() - last_seen_at!.getTime()).toBeGreaterThanOrEqual(MINUTE_MS);
  });

  test("a heartbeat closes an open wake cycle", async () => {
    await beat();
    await set({ wake_attempts: 2, checkin_deadline_at: world.now() });
    await beat();
    expect(await row()).toMatchObject({ wake_attempts: 0, checkin_deadline_at: null });
  });

  test("an agent may send its own heartbeat by id", async () => {
    expect((await beat({ status: "active" }, own())).body).toMatchObject({ id, status: "active" });
    expect(await types()).toEqual(["agent.connected", "agent.heartbeat"]);
    expect(await events()).toMatchObject(Array(2).fill({ user_id: null }));
    expect((await beat({}, { token })).body.status).toBe("online");
    expect((await beat({ status: "offline" }, own())).body.status).toBe("offline");
  });

  test("an agent is shown as offline once its last heartbeat is more than ten minutes old", async () => {
    await beat({ status: "active" });
    world.elapse(11 * MINUTE_MS);
    expect((await world.call("GET", `/api/v1/agents/${id}`, owner)).body.status).toBe("offline");
    expect((await row()).status).toBe("active");
  });
});

describe("heartbeats by agent name", () => {
  test("a heartbeat by name that an agent sends counts for that agent, whatever name and board it contains", async () => {
    for (const body of [{}, { name: "Somebody", board_id: abroad.board_id }, { name: null, status: "active" }]) {
      const answer = await beatByName(body, own());
      expect(answer.body).toMatchObject({ id, name: "Ann", status: body.status ?? "online", board_id });
      expect(answer.body).not.toHaveProperty("auth_token");
    }
    expect((await beatByName({ status: "gone" }, own())).status).toBe(422);
  });

  test("a person's heartbeat by name finds the agent of the board, ignoring case", async () => {
    const answer = await beatByName({ name: " aNN ", board_id, status: "ready" });
    expect(answer.body).toMatchObject({ id, name: "Ann", status: "ready" });
    expect(answer.body).not.toHaveProperty("auth_token");
  });

  test("a person's heartbeat by name creates a missing agent, under the rules of creation", async () => {
    const created = (await beatByName({ name: "Ben", board_id, status: "online" })).body;
    expect(created).toMatchObject({ name: "Ben", board_id, status: "provisioning", last_seen_at: null, is_board_lead: false });
    const health = await world.call("GET", "/api/v1/agent/healthz", { agent: created.auth_token });
    expect(health.body).toMatchObject({ agent_id: created.id, board_id });
    expect((await beatByName({ name: "ben", board_id })).body).toMatchObject({ id: created.id, status: "online" });
    await beatByName({ name: "Cid", board_id });
    const detail = "Board has reached its agent limit (max_agents=3, excluding the lead).";
    expect(statusAndBody(await beatByName({ name: "Dan", board_id }))).toEqual([409, { detail }]);
  });

  test("concurrent heartbeats with the same new name create one agent", async () => {
    const answers = await Promise.all(Array.from({ length: 4 }, () => beatByName({ name: "Eve", board_id })));
    expect(answers.map(({ status }) => status)).toEqual([200, 200, 200, 200]);
    expect(new Set(answers.map(({ body }) => body.id)).size).toBe(1);
    expect(answers.filter(({ body }) => body.auth_token)).toHaveLength(1);
  });

  test("a person's heartbeat by name needs a name and a board that they may write to", async () => {
    for (const body of [{}, { board_id }, { name: null, board_id }]) {
      const problem = { type: "missing", loc: ["body", "name"], msg: "Field required", input: null };
      expect(statusAndBody(await beatByName(body))).toEqual([422, { detail: [problem] }]);
    }
    expect((await beatByName({ name: " ", board_id })).body.detail).toMatchObject([{ type: "string_too_short" }]);
    expect(statusAndBody(await beatByName({ name: "Ann" }))).toEqual([422, { detail: "board_id is required" }]);
    for (const other of [abroad.board_id, crypto.randomUUID()])
      expect(statusAndBody(await beatByName({ name: "Ann", board_id: other }))).toEqual(MISSED);
    const reader = await world.member("reader", home, "admin", { read: true });
    const denied = await beatByName({ name: "Ann", board_id }, { token: reader.token });
    expect(statusAndBody(denied)).toEqual([403, { detail: "Board access denied" }]);
    const member = await world.member("member", home, "member", { write: true });
    expect((await beatByName({ name: "Ann", board_id }, { token: member.token })).status).toBe(403);
  });
});
