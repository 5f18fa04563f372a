import { agents, gateways } from "@board/core/schema/all-tables";
import { and, eq, isNull } from "drizzle-orm";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { type DialectName, dialects } from "../support/fake-gateway/dialect.ts";
import { type FakeGateway, startFakeGateway } from "../support/fake-gateway/server.ts";
import {
  addAgent,
  addEmptyBoard,
  type Agent,
  getAgentRow,
  callsOf,
  filesOf,
  getAgentJob,
  interceptHostCalls,
  MAX_RETRY_DELAY_MS,
  messagesTo,
  tokensOf,
  listActivityTypes,
  deliverConcurrently,
} from "../support/provisioning.ts";
import { setupWorld } from "../support/fixtures.ts";
import { onLambda } from "../support/target.ts";

const world = await setupWorld();
const home = await world.tenant("home");

const OF_ALL = ["IDENTITY.md", "SOUL.md", "TOOLS.md", "USER.md"];
const OF_BOARD_AGENTS = ["BOOTSTRAP.md", "HEARTBEAT.md", "MEMORY.md", ...OF_ALL];
const EXPECTED = { main: OF_ALL, worker: OF_BOARD_AGENTS, lead: ["AGENTS.md", "ROLES.md", ...OF_BOARD_AGENTS] };
type Role = keyof typeof EXPECTED;
const ROLES = ["main", "lead", "worker"] as const;

/**
 * Delays writes until all jobs have contacted the host. The first write restarts the host, and a job whose first contact is during
 * a restart loses an attempt.
 */
function writeAfterAllContacts(jobs: number) {
  const { promise, resolve } = Promise.withResolvers<void>();
  let contacts = 0;
  return interceptHostCalls(world, async (method, call) => {
    if (method === "agents.list" && ++contacts === jobs) resolve();
    if (method === "agents.create" || method === "config.patch") await promise;
    return call();
  });
}

describe.each(Object.keys(dialects) as DialectName[])("provisioning on a host of version %s", (dialect) => {
  let host: FakeGateway;
  const agents_by_role = {} as Record<Role, Agent>;

  beforeAll(async () => {
    host = await startFakeGateway({
      token: "test-token-123",
      dialect,
      timings: { restart_delay: 200, downtime: 50, starting: 20 },
    });
    // Hosts restart after writes by themselves, in the middle of the work.
    host.faults.restart_after_writes = true;
    const body = { name: dialect, url: host.url, workspace_root: "/srv/agents/", token: "test-token-123" };
    const { id } = (await world.call("POST", "/api/v1/gateways", { token: home.owner.token, body })).body;
    const board_id = await addEmptyBoard(world, home, id);
    const made = {
      lead: await addAgent(world, home, board_id, { name: "Lea", is_board_lead: true, heartbeat_config: { every: "5m" } }),
      worker: await addAgent(world, home, board_id, { name: "Wim" }),
    };
    await deliverConcurrently(world, onLambda ? undefined : writeAfterAllContacts(ROLES.length));
    const [main] = await world.db
      .select()
      .from(agents)
      .where(and(eq(agents.gateway_id, id), isNull(agents.board_id)));
    agents_by_role.main = main!;
    agents_by_role.lead = await getAgentRow(world, made.lead.id);
    agents_by_role.worker = await getAgentRow(world, made.worker.id);
  });
  afterAll(() => host.close());

  /** Lists what the jobs of this host logged about failed attempts, so that a failure of the test names its cause. */
  const listFailures = () => {
    const { gateway_id } = agents_by_role.main;
    const failures = world.log.filter((line) => line["gateway_id"] === gateway_id && /^(warn|error)$/.test(line.level));
    return failures
      .map(({ event, kind, attempt, error, message }) => [event, kind, attempt, error ?? message].join(" "))
      .join("\n");
  };
  const idOf = (agent: Agent) => agent.openclaw_session_id!.split(":")[1]!;
  const entryOf = (agent: Agent) => {
    const { list, entries } = (
      host.host.config.file() as { agents: { list?: { id: string }[]; entries?: Record<string, object> } }
    ).agents;
    return entries?.[idOf(agent)] ?? list?.find(({ id }) => id === idOf(agent));
  };

  test.each(ROLES)("the %s is provisioned in one attempt and is ready, with an event for each step", async (role) => {
    const agent = agents_by_role[role];
    expect(await getAgentJob(world, "agent.provision", agent.id), listFailures()).toMatchObject({
      status: "done",
      attempts: 1,
      secret_sealed: null,
    });
    expect(agent).toMatchObject({ status: "ready", last_provision_error: null, previous_status: null, lifecycle_generation: 1 });
    expect(await listActivityTypes(world, agent.id)).toEqual([
      "agent.provisioned",
      "agent.provision.direct",
      "agent.wakeup.sent",
    ]);
  });

  test.each(ROLES)("the %s has its entry: name, workspace below the root, heartbeat", (role) => {
    const agent = agents_by_role[role];
    const folder = idOf(agent).replace(/^mc-gateway-/, "gateway-");
    expect(entryOf(agent)).toMatchObject({
      name: agent.name,
      workspace: `/srv/agents/workspace-${folder}`,
      heartbeat: { every: role === "lead" ? "5m" : "10m", target: dialects[dialect].routes_heartbeats ? "none" : "last" },
    });
  });

  test.each(ROLES)("the %s has the files of its role, each as a file or as a section of another file", (role) => {
    const files = filesOf(host, agents_by_role[role]);
    const carried = [...files.values()].flatMap((text) =>
      [...text.matchAll(/^<!-- file: (\S+) -->$/gm)].map((match) => match[1]!),
    );
    const own = [...files].filter(([, content]) => !content.includes("Default text of the host")).map(([name]) => name);
    expect(new Set([...own, ...carried])).toEqual(new Set([...EXPECTED[role], ...(carried.length > 0 ? ["AGENTS.md"] : [])]));
  });

  test.each(ROLES)("the token of the %s is in exactly one of its files, and the service knows it", async (role) => {
    const tokens = tokensOf(host, agents_by_role[role]);
    expect(tokens).toHaveLength(1);
    const health = await world.call("GET", "/api/v1/agent/healthz", { agent: tokens[0]![1] });
    expect(health.body).toMatchObject({ ok: true, agent_id: agents_by_role[role].id });
  });

  test.each(ROLES)("the %s is woken once, by a text that says which files to read", (role) => {
    const agent = agents_by_role[role];
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

  test("new agents start with a fresh session, and a main agent keeps its session", () => {
    const reset = new Set(callsOf(host, "sessions.reset").map(({ key }) => key));
    expect(reset).toEqual(new Set([agents_by_role.lead.openclaw_session_id, agents_by_role.worker.openclaw_session_id]));
  });

  test("the gateway shows that its host is connected", async () => {
    const [gateway] = await world.db.select().from(gateways).where(eq(gateways.id, agents_by_role.main.gateway_id));
    expect(gateway).toMatchObject({ connected: true, last_error: null, version: dialect });
  });

  test("an agent is provisioned later when others keep changing the host's configuration", async () => {
    const { gateway_id } = agents_by_role.worker;
    const stale = { message: "config changed since last load; re-run config.get and retry" };
    host.failNext("config.patch", stale, 3);
    const { id } = await addAgent(world, home, await addEmptyBoard(world, home, gateway_id), { name: "Nia" });
    await deliverConcurrently(world);
    expect(await getAgentJob(world, "agent.provision", id)).toMatchObject({ status: "queued", attempts: 1 });
    world.elapse(MAX_RETRY_DELAY_MS);
    await deliverConcurrently(world);
    expect(await getAgentJob(world, "agent.provision", id)).toMatchObject({ status: "done", attempts: 2 });
    expect(await getAgentRow(world, id)).toMatchObject({ status: "ready", last_provision_error: null });
  });
});
