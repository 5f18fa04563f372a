import { agents, boards, gateways } from "@board/core/schema/all-tables";
import { eq } from "drizzle-orm";
import { describe, expect, test } from "vitest";
import type { CallOptions } from "../support/http.ts";
import { setupWorld } from "../support/fixtures.ts";

const world = await setupWorld();
const home = await world.tenant("home");
const abroad = await world.tenant("abroad");
const admin = await world.member("admin", home, "admin", { read: true });

const post = (body: object, options: CallOptions = { token: home.owner.token }) =>
  world.call("POST", "/api/v1/agents", { ...options, body });
const addBoard = async (changed: object = {}) => {
  const body = { name: "Board", description: "A board", gateway_id: home.gateway_id, max_agents: 9, ...changed };
  return (await world.call("POST", "/api/v1/boards", { token: home.owner.token, body })).body.id;
};
const refused = (answer: { status: number; body: unknown }) => [answer.status, answer.body];

describe("creating an agent", () => {
  test("the response of creation has the agent and, only this once, its token", async () => {
    const board_id = await addBoard();
    const created = (await post({ name: " Ann ", board_id })).body;
    const { auth_token, ...agent } = created;
    expect(agent).toEqual({
      id: expect.any(String),
      gateway_id: home.gateway_id,
      board_id,
      name: "Ann",
      status: "provisioning",
      is_board_lead: false,
      is_gateway_main: false,
      openclaw_session_id: `agent:mc-${agent.id}:main`,
      last_seen_at: null,
      heartbeat_config: null,
      identity_profile: null,
      identity_template: null,
      soul_template: null,
      last_provision_error: null,
      requests_per_minute: null,
      created_at: expect.any(String),
      updated_at: agent.created_at,
    });
    expect(auth_token).toMatch(/^[A-Za-z0-9_-]{43}$/);
    for (const path of [`/api/v1/agents/${agent.id}`, `/api/v1/agents?board_id=${board_id}`]) {
      const read = await world.call("GET", path, { token: home.owner.token });
      expect(read.body.items?.[0] ?? read.body).toEqual(agent);
      expect(read.text).not.toContain(auth_token);
    }
    expect((await world.call("GET", "/api/v1/agent/healthz", { agent: auth_token })).body).toMatchObject({
      agent_id: agent.id,
      board_id,
    });
  });

  test("a new lead gets the lead's session key", async () => {
    const board_id = await addBoard();
    const lead = (await post({ name: "Lead", board_id, is_board_lead: true })).body;
    expect(lead).toMatchObject({ is_board_lead: true, openclaw_session_id: `agent:lead-${board_id}:main` });
  });

  test("the request that creates an agent cannot set the agent's state, host or credentials", async () => {
    const sent = {
      id: crypto.randomUUID(),
      status: "online",
      gateway_id: abroad.gateway_id,
      openclaw_session_id: "agent:main:main",
      last_seen_at: "2026-01-01",
      is_gateway_main: true,
      agent_token_hash: "x",
      agent_token_lookup: "x",
    };
    const created = (await post({ ...sent, name: "Chooser", board_id: await addBoard() })).body;
    expect(created).toMatchObject({
      status: "provisioning",
      gateway_id: home.gateway_id,
      last_seen_at: null,
      is_gateway_main: false,
    });
    expect([created.id, created.openclaw_session_id]).not.toContain(sent.id);
    const [row] = await world.db.select().from(agents).where(eq(agents.id, created.id));
    expect([row?.agent_token_hash, row?.agent_token_lookup]).not.toContain("x");
  });

  test.each([
    [
      { " role ": " Writer ", level: 3, active: true, tags: ["a", 1, " b "], empty: " ", none: null, "  ": "x" },
      { role: "Writer", level: "3", active: "true", tags: "a, 1, b" },
    ],
    [{ none: null, " ": "x", blank: "" }, null],
    [{}, null],
    [null, null],
  ])("the identity profile %j is stored as text", async (identity_profile, kept) => {
    expect((await post({ name: "Profile", board_id: await addBoard(), identity_profile })).body.identity_profile).toEqual(kept);
  });

  test("templates are stored trimmed and unrendered, and a blank one as null", async () => {
    const soul_template = "# Soul {{ auth_token }} {% for x in y %} ${z}";
    const created = await post({
      name: "T",
      board_id: await addBoard(),
      identity_template: " \n",
      soul_template: `\n${soul_template} `,
    });
    expect(created.body).toMatchObject({ identity_template: null, soul_template });
  });

  test.each([
    [{ name: " " }, ["body", "name"]],
    [{ identity_profile: ["role"] }, ["body", "identity_profile"]],
    [{ identity_profile: "role" }, ["body", "identity_profile"]],
    [{ heartbeat_config: "10m" }, ["body", "heartbeat_config"]],
    [{ heartbeat_config: { every: 10 } }, ["body", "heartbeat_config"]],
    [{ is_board_lead: "yes" }, ["body", "is_board_lead"]],
    [{ board_id: "board" }, ["body", "board_id"]],
  ])("a new agent with %j is refused", async (changed, loc) => {
    const answer = await post({ name: "Bad", board_id: home.board_id, ...changed });
    expect([answer.status, answer.body.detail]).toMatchObject([422, [{ loc }]]);
  });

  test("a heartbeat configuration may have any additional fields", async () => {
    const heartbeat_config = { every: "5m", target: "last", includeReasoning: true, more: { a: [1] } };
    expect((await post({ name: "H", board_id: await addBoard(), heartbeat_config })).body.heartbeat_config).toEqual(
      heartbeat_config,
    );
  });
});

describe("rules for creating an agent", () => {
  test("a person must name a board that they may write to", async () => {
    for (const body of [{ name: "A" }, { name: "A", board_id: null }])
      expect(refused(await post(body))).toEqual([422, { detail: "board_id is required" }]);
    for (const board_id of [abroad.board_id, crypto.randomUUID()])
      expect(refused(await post({ name: "A", board_id }))).toEqual([404, { detail: "Not Found" }]);
    const denied = await post({ name: "A", board_id: home.board_id }, { token: admin.token });
    expect(refused(denied)).toEqual([403, { detail: "Board access denied" }]);
    const member = await world.member("writing member", home, "member", { write: true });
    expect(refused(await post({ name: "A", board_id: home.board_id }, { token: member.token }))).toEqual([
      403,
      { detail: "Forbidden" },
    ]);
  });

  test("an admin can add agents only to boards of the active organization, whatever rights the admin has elsewhere", async () => {
    const guest = await world.member("guest", abroad, "member", { write: true });
    await world.join(guest, home.organization_id, "admin", { write: true });
    const answer = await post({ name: "Intruder", board_id: abroad.board_id }, { token: guest.token });
    expect(refused(answer)).toEqual([404, { detail: "Not Found" }]);
  });

  test("a new agent's gateway is checked before the board's agent limit, and the limit before the name", async () => {
    const gateway = { name: "Own", url: "ws://127.0.0.1:9", workspace_root: "/srv" };
    const gateway_id = (await world.call("POST", "/api/v1/gateways", { token: home.owner.token, body: gateway })).body.id;
    const board_id = await addBoard({ gateway_id, max_agents: 1 });
    await post({ name: "Taken", board_id });
    await post({ name: "Lead", board_id, is_board_lead: true });
    const again = () => post({ name: "taken", board_id });

    const full = "Board has reached its agent limit (max_agents=1, excluding the lead).";
    expect(refused(await again())).toEqual([409, { detail: full }]);
    await world.db.update(gateways).set({ workspace_root: "\t" }).where(eq(gateways.id, gateway_id));
    expect(refused(await again())).toEqual([422, { detail: "Gateway workspace_root is required" }]);
    await world.db.update(gateways).set({ url: "\t" }).where(eq(gateways.id, gateway_id));
    expect(refused(await again())).toEqual([422, { detail: "Gateway url is required" }]);
    await world.db.update(boards).set({ gateway_id: abroad.gateway_id }).where(eq(boards.id, board_id));
    expect(refused(await again())).toEqual([422, { detail: "Board gateway_id is invalid" }]);
  });

  test("an agent's name is unique on its board, ignoring case", async () => {
    const board_id = await addBoard();
    expect((await post({ name: "Zoë", board_id })).status).toBe(200);
    const detail = "An agent with this name already exists on this board.";
    expect(refused(await post({ name: " zOË ", board_id }))).toEqual([409, { detail }]);
    expect(refused(await post({ name: "ZOË", board_id, is_board_lead: true }))).toEqual([409, { detail }]);
    expect((await post({ name: "Zoë", board_id: await addBoard() })).status).toBe(200);
  });

  test("a board has at most one lead", async () => {
    const board_id = await addBoard();
    expect((await post({ name: "First", board_id, is_board_lead: true })).status).toBe(200);
    const second = await post({ name: "Second", board_id, is_board_lead: true });
    expect(refused(second)).toEqual([409, { detail: "Board already has a lead agent." }]);
  });

  test("the agent limit of a board does not count its lead", async () => {
    const board_id = await addBoard({ max_agents: 0 });
    expect((await post({ name: "Lead", board_id, is_board_lead: true })).status).toBe(200);
    const detail = "Board has reached its agent limit (max_agents=0, excluding the lead).";
    expect(refused(await post({ name: "One", board_id }))).toEqual([409, { detail }]);
    await world.call("PATCH", `/api/v1/boards/${board_id}`, { token: home.owner.token, body: { max_agents: 1 } });
    expect((await post({ name: "One", board_id })).status).toBe(200);
    expect((await post({ name: "Two", board_id })).status).toBe(409);
  });
});

describe("a lead that creates an agent", () => {
  test("a lead adds a worker to its own board, whether or not the board is named", async () => {
    for (const body of [{ name: "Helper 1" }, { name: "Helper 2", board_id: home.board_id.toUpperCase(), is_board_lead: true }]) {
      const created = await post(body, { agent: home.lead.token });
      expect(created.body).toMatchObject({ board_id: home.board_id, gateway_id: home.gateway_id, is_board_lead: false });
    }
    expect((await post({ name: "Helper 3" }, { token: home.lead.token })).status).toBe(200);
  });

  test("the agent limit of a board also applies to workers that its lead adds", async () => {
    await world.db.update(boards).set({ max_agents: 1 }).where(eq(boards.id, home.board_id));
    const detail = "Board has reached its agent limit (max_agents=1, excluding the lead).";
    expect(refused(await post({ name: "X" }, { agent: home.lead.token }))).toEqual([409, { detail }]);
  });
});
