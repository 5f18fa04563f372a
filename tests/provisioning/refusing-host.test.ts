import { agents, jobs } from "@board/core/schema/all-tables";
import type { JobKind } from "@board/core/job/kinds";
import { scheduled } from "@board/api/work/schedules";
import { and, eq, isNull } from "drizzle-orm";
import { afterEach, describe, expect, test } from "vitest";
import { approveDevice } from "../support/fake-gateway/pairing.ts";
import { type FakeGateway, startFakeGateway } from "../support/fake-gateway/server.ts";
import { DIALECTS } from "../support/dialects.ts";
import {
  addAgent,
  addEmptyBoard,
  type Agent,
  deliverConcurrently,
  getAgentRow,
  MAX_RETRY_DELAY_MS,
  messagesTo,
  type NewAgent,
  SECOND_MS,
  tokensOf,
} from "../support/provisioning.ts";
import { setupWorld } from "../support/fixtures.ts";

const TOKEN = "test-token-123";
/** More rounds than the jobs of this test have attempts. */
const ROUNDS = 12;

let host: FakeGateway;

const world = await setupWorld();
const home = await world.tenant("home");

afterEach(async () => {
  await host.close();
  await world.db.delete(jobs);
});

interface Crew {
  gateway_id: string;
  board_id: string;
  main: Agent;
  worker: NewAgent;
}

const ask = (method: string, path: string, body?: object) => world.call(method, path, { token: home.owner.token, body });
const showGateway = async (id: string) => (await ask("GET", `/api/v1/gateways/${id}`)).body;
const listJobs = (gateway_id: string, kind: JobKind) =>
  world.db
    .select()
    .from(jobs)
    .where(and(eq(jobs.gateway_id, gateway_id), eq(jobs.kind, kind)));

/** Registers a gateway with a main agent and a worker while its host refuses the service. */
async function register(dialect: string, token: string): Promise<Crew> {
  const body = { name: `Rack ${dialect}`, url: host.url, workspace_root: "/srv/agents", token };
  const { id: gateway_id, connected } = (await ask("POST", "/api/v1/gateways", body)).body;
  expect(connected).toBe(false);
  const board_id = await addEmptyBoard(world, home, gateway_id);
  const worker = await addAgent(world, home, board_id);
  const [main] = await world.db
    .select()
    .from(agents)
    .where(and(eq(agents.gateway_id, gateway_id), isNull(agents.board_id)));
  return { gateway_id, board_id, main: main!, worker };
}

/** Runs the jobs until they have used all their attempts. */
async function runOut(): Promise<void> {
  for (let round = 0; round < ROUNDS; round++) {
    await deliverConcurrently(world);
    world.elapse(2 * MAX_RETRY_DELAY_MS);
  }
}

async function probe(): Promise<void> {
  await scheduled.probe(world.context());
  world.elapse(61 * SECOND_MS);
  await deliverConcurrently(world);
}

function approve(): void {
  for (const request of host.host.devices.pending.values()) approveDevice(host.host.devices, request);
}

async function expectProvisioned({ main, worker }: Crew): Promise<void> {
  for (const { id } of [main, worker]) {
    const agent = await getAgentRow(world, id);
    expect(agent).toMatchObject({ status: "ready", last_provision_error: null });
    const tokens = tokensOf(host, agent);
    expect(tokens).toHaveLength(1);
    const health = await world.call("GET", "/api/v1/agent/healthz", { agent: tokens[0]![1] });
    expect(health.body).toMatchObject({ agent_id: id });
    expect(messagesTo(host, agent)).toHaveLength(1);
  }
}

describe.each(DIALECTS)("a host of version %s that refuses the service", (dialect) => {
  const start = async (remote = false) =>
    (host = await startFakeGateway({
      token: TOKEN,
      dialect,
      remote,
      timings: { restart_delay: 50, downtime: 20, starting: 20 },
    }));

  test("agents that are created while the gateway has a wrong token are provisioned once the token is changed", async () => {
    await start();
    const crew = await register(dialect, "wrong-token-1");
    await runOut();
    for (const { id } of [crew.main, crew.worker])
      expect(await getAgentRow(world, id)).toMatchObject({
        status: "offline",
        last_provision_error: expect.stringContaining("gateway.auth.token"),
      });
    await ask("PATCH", `/api/v1/gateways/${crew.gateway_id}`, { token: TOKEN });
    await deliverConcurrently(world);
    await expectProvisioned(crew);
    expect((await listJobs(crew.gateway_id, "agent.provision")).filter(({ status }) => status === "dead")).toEqual([]);
  });

  test("agents that are created before the pairing is approved are provisioned by the next probe after the approval, and by no later probe", async () => {
    await start(true);
    const crew = await register(dialect, TOKEN);
    await runOut();
    expect((await getAgentRow(world, crew.worker.id)).status).toBe("offline");
    approve();
    await probe();
    await expectProvisioned(crew);
    expect(await showGateway(crew.gateway_id)).toMatchObject({ connected: true, last_error: null });
    await probe();
    expect(messagesTo(host, await getAgentRow(world, crew.worker.id))).toHaveLength(1);
  });
});

describe("a host that was unreachable", () => {
  test("each agent whose provisioning failed while its host was unreachable is added to the host once, with a token that works", async () => {
    host = await startFakeGateway({ token: TOKEN, dialect: "2026.9.6" });
    await host.stop();
    const crew = await register("away", TOKEN);
    const states = async () => (await listJobs(crew.gateway_id, "agent.provision")).map(({ status }) => status);
    while (!(await states()).every((status) => status === "dead")) await runOut();
    await host.start();
    await probe();
    await expectProvisioned(crew);
    expect(await states()).toEqual(["done", "done"]);
  });
});

describe("a host that has not approved the service yet", () => {
  const start = async () => (host = await startFakeGateway({ token: TOKEN, dialect: "2026.9.6", remote: true }));

  test("the error of a host that has not approved the service names the command that approves it", async () => {
    await start();
    const { gateway_id, worker } = await register("told", TOKEN);
    await deliverConcurrently(world);
    const [request] = host.host.devices.pending.values();
    const command = expect.stringContaining(`openclaw devices approve ${request!.requestId}`);
    expect(await showGateway(gateway_id)).toMatchObject({ connected: false, last_error: command });
    expect(await getAgentRow(world, worker.id)).toMatchObject({ status: "provisioning", last_provision_error: command });
    expect((await ask("GET", `/api/v1/gateway/status?gateway_id=${gateway_id}`)).body).toMatchObject({ error: command });
  });

  test("an agent keeps the token that it was created with if the host approves the service while the agent's job is still retried", async () => {
    await start();
    const crew = await register("soon", TOKEN);
    await deliverConcurrently(world);
    approve();
    expect((await ask("GET", `/api/v1/gateway/status?gateway_id=${crew.gateway_id}`)).body).toMatchObject({ connected: true });
    await deliverConcurrently(world);
    await expectProvisioned(crew);
    expect(tokensOf(host, crew.worker)[0]![1]).toBe(crew.worker.auth_token);
  });

  test("abandoned clean-ups and heartbeat settings are completed after the approval", async () => {
    await start();
    const crew = await register("owed", TOKEN);
    approve();
    world.elapse(MAX_RETRY_DELAY_MS);
    await deliverConcurrently(world);
    await expectProvisioned(crew);
    const leaver = await addAgent(world, home, crew.board_id, { name: "Ben" });
    await deliverConcurrently(world);
    host.host.devices.paired.clear();
    await host.restart();
    await ask("PATCH", `/api/v1/agents/${crew.worker.id}`, { heartbeat_config: { every: "45m" } });
    await ask("DELETE", `/api/v1/agents/${leaver.id}`);
    await runOut();
    const given_up = async (kind: JobKind) => (await listJobs(crew.gateway_id, kind)).map(({ status }) => status);
    expect([await given_up("agent.cleanup"), await given_up("config.heartbeat")]).toEqual([["dead"], ["dead"]]);
    approve();
    await probe();
    const { entries } = (host.host.config.file() as { agents: { entries: Record<string, object> } }).agents;
    expect(Object.keys(entries)).not.toContain(`mc-${leaver.id}`);
    expect(entries[`mc-${crew.worker.id}`]).toMatchObject({ heartbeat: { every: "45m" } });
  });

  test("a gateway that is connected again resumes nothing of another gateway", async () => {
    await start();
    const [crew, other] = [await register("approved", TOKEN), await register("other", TOKEN)];
    await ask("PATCH", `/api/v1/agents/${other.worker.id}`, { heartbeat_config: { every: "45m" } });
    await runOut();
    const stateOf = async ({ gateway_id, worker }: Crew) => ({
      agent: await getAgentRow(world, worker.id),
      jobs: await world.db.select().from(jobs).where(eq(jobs.gateway_id, gateway_id)).orderBy(jobs.seq),
    });
    const before = await stateOf(other);
    expect([before.agent.status, new Set(before.jobs.map(({ status }) => status))]).toEqual(["offline", new Set(["dead"])]);
    approve();
    await ask("GET", `/api/v1/gateway/status?gateway_id=${crew.gateway_id}`);
    await deliverConcurrently(world);
    await expectProvisioned(crew);
    expect(await stateOf(other)).toEqual(before);
  });

  test("agents that were provisioned are not started again when their host answers again", async () => {
    await start();
    const crew = await register("again", TOKEN);
    approve();
    world.elapse(MAX_RETRY_DELAY_MS);
    await deliverConcurrently(world);
    await expectProvisioned(crew);
    await world.db.update(agents).set({ status: "offline", last_provision_error: "quiet" }).where(eq(agents.id, crew.worker.id));
    await host.stop();
    await probe();
    await host.start();
    await probe();
    expect((await getAgentRow(world, crew.worker.id)).status).toBe("offline");
    expect(messagesTo(host, crew.worker)).toHaveLength(1);
  });
});
