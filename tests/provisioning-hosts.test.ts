import { agents, gateways } from "@board/core/db/schema";
import { and, eq, isNull } from "drizzle-orm";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { type DialectName, dialects } from "../packages/local/src/fake-gateway/dialect.ts";
import { type FakeGateway, startFakeGateway } from "../packages/local/src/fake-gateway/server.ts";
import {
  addAgent,
  addEmptyBoard,
  type Agent,
  agentRow,
  callsOf,
  filesOf,
  jobFor,
  messagesTo,
  tokensOf,
  toldOf,
  workTogether,
} from "./support/provisioning.ts";
import { createWorld, type Tenant, type World } from "./support/world.ts";

let world: World;
let home: Tenant;

beforeAll(async () => {
  world = await createWorld();
  home = await world.tenant("home");
});
afterAll(() => world.close());

const OF_ALL = ["IDENTITY.md", "SOUL.md", "TOOLS.md", "USER.md"];
const OF_BOARD_AGENTS = ["BOOTSTRAP.md", "HEARTBEAT.md", "MEMORY.md", ...OF_ALL];
const EXPECTED = { main: OF_ALL, worker: OF_BOARD_AGENTS, lead: ["AGENTS.md", "ROLES.md", ...OF_BOARD_AGENTS] };
type Role = keyof typeof EXPECTED;
const ROLES = ["main", "lead", "worker"] as const;

describe.each(Object.keys(dialects) as DialectName[])("on a host of %s", (dialect) => {
  let host: FakeGateway;
  const cast = {} as Record<Role, Agent>;

  beforeAll(async () => {
    host = await startFakeGateway({
      token: "test-token-123",
      dialect,
      timings: { restart_delay: 200, downtime: 50, starting: 20 },
    });
    // As hosts do by themselves, in the middle of the work.
    host.faults.restart_after_writes = true;
    const body = { name: dialect, url: host.url, workspace_root: "/srv/agents/", token: "test-token-123" };
    const { id } = (await world.call("POST", "/api/v1/gateways", { token: home.owner.token, body })).body;
    const board_id = await addEmptyBoard(world, home, id);
    const made = {
      lead: await addAgent(world, home, board_id, { name: "Lea", is_board_lead: true, heartbeat_config: { every: "5m" } }),
      worker: await addAgent(world, home, board_id, { name: "Wim" }),
    };
    await workTogether(world);
    const [main] = await world.db
      .select()
      .from(agents)
      .where(and(eq(agents.gateway_id, id), isNull(agents.board_id)));
    cast.main = main!;
    cast.lead = await agentRow(world, made.lead.id);
    cast.worker = await agentRow(world, made.worker.id);
  }, 120_000);
  afterAll(() => host.close());

  const idOf = (agent: Agent) => agent.openclaw_session_id!.split(":")[1]!;
  const entryOf = (agent: Agent) => {
    const { list, entries } = (
      host.host.config.file() as { agents: { list?: { id: string }[]; entries?: Record<string, object> } }
    ).agents;
    return entries?.[idOf(agent)] ?? list?.find(({ id }) => id === idOf(agent));
  };

  test.each(ROLES)("the %s is made in one attempt and is ready, with an event for each part", async (role) => {
    const agent = cast[role];
    expect(await jobFor(world, "agent.provision", agent.id)).toMatchObject({ status: "done", attempts: 1, secret_sealed: null });
    expect(agent).toMatchObject({ status: "ready", last_provision_error: null, previous_status: null, lifecycle_generation: 1 });
    expect(await toldOf(world, agent.id)).toEqual(["agent.provisioned", "agent.provision.direct", "agent.wakeup.sent"]);
  });

  test.each(ROLES)("the %s has its entry: name, workspace below the root, heartbeat", (role) => {
    const agent = cast[role];
    const folder = idOf(agent).replace(/^mc-gateway-/, "gateway-");
    expect(entryOf(agent)).toMatchObject({
      name: agent.name,
      workspace: `/srv/agents/workspace-${folder}`,
      heartbeat: { every: role === "lead" ? "5m" : "10m", target: "last" },
    });
  });

  test.each(ROLES)("the %s has the files of its role, each written by the service or carried by another", (role) => {
    const files = filesOf(host, cast[role]);
    const carried = [...files.values()].flatMap((text) =>
      [...text.matchAll(/^<!-- file: (\S+) -->$/gm)].map((match) => match[1]!),
    );
    const own = [...files].filter(([, content]) => !content.includes("Default text of the host")).map(([name]) => name);
    expect(new Set([...own, ...carried])).toEqual(new Set([...EXPECTED[role], ...(carried.length > 0 ? ["AGENTS.md"] : [])]));
  });

  test.each(ROLES)("the token in the files of the %s is in one of them only, and the service knows it", async (role) => {
    const tokens = tokensOf(host, cast[role]);
    expect(tokens).toHaveLength(1);
    const me = await world.call("GET", "/api/v1/agent/healthz", { agent: tokens[0]![1] });
    expect(me.body).toMatchObject({ ok: true, agent_id: cast[role].id });
  });

  test.each(ROLES)("the %s is woken once, by a text that says what to read", (role) => {
    const agent = cast[role];
    expect(messagesTo(host, agent)).toEqual([
      expect.objectContaining({
        deliver: role === "main",
        message: expect.stringMatching(
          new RegExp(
            `${agent.name}.*provisioned[^]*BOOTSTRAP\\.md[^]*AGENTS\\.md[^]*TOOLS\\.md[^]*SOUL\\.md[^]*HEARTBEAT\\.md[^]*heartbeats`,
          ),
        ),
      }),
    ]);
    expect(host.host.sessions.get(agent.openclaw_session_id!)?.label).toBe(agent.name);
  });

  test("new agents start with a fresh session, a main agent keeps the one it had", () => {
    const reset = new Set(callsOf(host, "sessions.reset").map(({ key }) => key));
    expect(reset).toEqual(new Set([cast.lead.openclaw_session_id, cast.worker.openclaw_session_id]));
  });

  test("the gateway shows that its host is there", async () => {
    const [gateway] = await world.db.select().from(gateways).where(eq(gateways.id, cast.main.gateway_id));
    expect(gateway).toMatchObject({ connected: true, last_error: null, version: dialect });
  });
});
