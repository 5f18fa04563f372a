/** Tests that a deleted organization or gateway leaves no row in the database and no agent on the host. */
import * as schema from "@board/core/schema/all-tables";
import { hostAgentId } from "@board/core/values/session-key";
import { redriveJobs } from "@board/core/job/redrive";
import { unseal } from "@board/core/values/seal";
import { and, count, eq, getTableName, is, isNull } from "drizzle-orm";
import { PgTable } from "drizzle-orm/pg-core";
import { afterEach, beforeEach, describe, expect, test } from "vitest";
import { agentsOf } from "../support/fake-gateway/config.ts";
import { type FakeGateway, startFakeGateway } from "../support/fake-gateway/server.ts";
import { seedFullOrganization } from "./seed-organization.ts";
import { stopHost, deliverConcurrently } from "../support/provisioning.ts";
import { createWorld, type Person, type Tenant, type World } from "../support/world.ts";

const HOST_TOKEN = "test-token-123";
/**
 * Tables in which a deleted organization may leave rows: tables that do not belong to an organization, host locks, which
 * outlive their gateways, and leases of streams and waiting requests, which end by themselves.
 */
const OTHER_TABLES = [
  "rate_counters",
  "service_keys",
  "host_turns",
  "activity_counted",
  "transitions_counted",
  "changes_removed",
  "stream_leases",
  "inbox_waits",
  "processes",
  "schedule_turns",
  "notification_preferences",
  "channels",
  "used_decisions",
];
const tables = Object.values(schema as Record<string, unknown>)
  .filter((value): value is PgTable => is(value, PgTable))
  .filter((table) => !OTHER_TABLES.includes(getTableName(table)));

let world: World;
let host: FakeGateway;

const token = (tenant: Tenant) => ({ token: tenant.owner.token });
const removeActive = ({ token }: Person) => world.call("DELETE", "/organizations/me", { token });

async function countRows(): Promise<Record<string, number>> {
  const counts: Record<string, number> = {};
  for (const table of tables) counts[getTableName(table)] = (await world.db.select({ rows: count() }).from(table))[0]!.rows;
  return counts;
}

/** Lists the ids of the agents on the host, except the host's built-in agent. */
const agentIdsOnHost = () =>
  agentsOf(host.host.config.runtime(), host.host.dialect)
    .map(({ id }) => id)
    .filter((id) => id !== "main")
    .toSorted();

const agentsOn = (gateway_id: string) => world.db.select().from(schema.agents).where(eq(schema.agents.gateway_id, gateway_id));
const hostIds = (rows: { openclaw_session_id: string | null }[]) =>
  rows.map((row) => hostAgentId(row.openclaw_session_id!)).toSorted();

/** Creates the agents of a gateway on the host, as provisioning would. */
async function createOnHost(gateway_id: string): Promise<string[]> {
  const ids = hostIds(await agentsOn(gateway_id));
  for (const name of ids)
    await world.context().gateways.request(target(), "agents.create", { name, workspace: `/srv/agents/${name}` });
  return ids;
}

const target = () => ({ url: host.url, token: HOST_TOKEN, disable_device_pairing: false, allow_insecure_tls: false });

const cleanups = () => world.db.select().from(schema.jobs).where(eq(schema.jobs.kind, "agent.cleanup"));

/** Delivers the jobs concurrently, like a batch of the queue, because each clean-up job waits five seconds. */
const deliverJobs = () => deliverConcurrently(world);

beforeEach(async () => {
  world = await createWorld();
  host = await startFakeGateway({ token: HOST_TOKEN, dialect: "2026.9.6" });
});
afterEach(async () => {
  await world.close();
  await host.close();
});

describe("cleanup of a deleted organization", () => {
  test("deleting an organization removes all its rows, and its clean-up jobs remove its agents from the host", async () => {
    const neighbour = await world.tenant("neighbour", host.url);
    const keptIds = await createOnHost(neighbour.gateway_id);
    await world.person("colleague").then(({ token }) => world.call("GET", "/api/v1/users/me", { token }));
    await world.person("deleted").then(({ token }) => world.call("GET", "/api/v1/users/me", { token }));
    await deliverJobs();
    const before = await countRows();

    const deleted = await world.tenant("deleted", host.url);
    const removedIds = await createOnHost(deleted.gateway_id);
    await seedFullOrganization(world, deleted);
    const headers = { "Idempotency-Key": "stored" };
    await world.call("POST", "/api/v1/tags", { token: deleted.owner.token, body: { name: "Stored" }, headers });
    const full = await countRows();
    // People outlive the organization, and so do the records of objects that must still be removed from the storages.
    const outlive = ["users", "artifact_orphans", "webhook_body_orphans"];
    const empty = tables.map(getTableName).filter((name) => !outlive.includes(name) && full[name]! <= before[name]!);
    expect(empty, "tables that this test leaves empty").toEqual([]);
    expect(agentIdsOnHost()).toEqual([...keptIds, ...removedIds].toSorted());

    const removed = await removeActive(deleted.owner);
    expect([removed.status, removed.body]).toEqual([200, { ok: true }]);
    const remaining = await countRows();
    const outlived = { jobs: 0, artifact_orphans: 0 };
    expect({ ...remaining, ...outlived }).toEqual({ ...before, ...outlived });
    const jobs = (await world.db.select().from(schema.jobs)).filter(({ status }) => status === "queued");
    expect(jobs.map(({ kind, organization_id, gateway_id }) => [kind, organization_id, gateway_id])).toEqual(
      removedIds.map(() => ["agent.cleanup", null, null]),
    );
    for (const job of jobs) {
      expect(JSON.stringify(job.payload)).not.toContain(HOST_TOKEN);
      expect(JSON.parse(unseal(world.settings.encryption_key, job.secret_sealed!))).toMatchObject({
        url: host.url,
        token: HOST_TOKEN,
      });
    }

    await deliverJobs();
    expect(agentIdsOnHost()).toEqual(keptIds);
    const ended = await cleanups();
    expect(ended.map(({ status, secret_sealed }) => [status, secret_sealed])).toEqual(removedIds.map(() => ["done", null]));
  });

  test("agents on a host that is down are removed when it is back", async () => {
    const home = await world.tenant("home", host.url);
    await createOnHost(home.gateway_id);
    await stopHost(world, host);
    expect((await removeActive(home.owner)).status).toBe(200);
    await deliverJobs();
    expect((await cleanups()).map(({ status, attempts }) => [status, attempts])).toEqual(Array(3).fill(["queued", 1]));
    await host.start();
    world.elapse(12_000);
    await deliverJobs();
    expect(agentIdsOnHost()).toEqual([]);
  });

  test("a clean-up job that keeps failing ends as dead and can be redriven", async () => {
    const home = await world.tenant("home");
    await removeActive(home.owner);
    for (let attempt = 1; attempt <= 10; attempt++) {
      await deliverJobs();
      world.elapse(700_000);
    }
    expect((await cleanups()).map(({ status, attempts }) => [status, attempts])).toEqual(Array(3).fill(["dead", 10]));
    expect(await redriveJobs({ ...world.context() })).toHaveLength(3);
  });

  test("a clean-up job queued before the organization was deleted still reaches the host", async () => {
    const home = await world.tenant("home", host.url);
    const all = await createOnHost(home.gateway_id);
    await stopHost(world, host);
    const board = await world.call("DELETE", `/api/v1/boards/${home.board_id}`, token(home));
    expect(board.status).toBe(200);
    expect((await cleanups()).map(({ secret_sealed }) => secret_sealed)).toEqual([null, null]);
    expect((await removeActive(home.owner)).status).toBe(200);
    expect(await cleanups()).toHaveLength(all.length);
    await host.start();
    await deliverJobs();
    expect(agentIdsOnHost()).toEqual([]);
  });
});

describe("cleanup of a deleted gateway", () => {
  test("deleting a gateway removes its main agent from the host over the gateway's former connection", async () => {
    const home = await world.tenant("home", host.url);
    const other = (
      await world.call("POST", "/api/v1/gateways", {
        ...token(home),
        body: { name: "Other", url: host.url, workspace_root: "/srv/agents", token: HOST_TOKEN },
      })
    ).body;
    const keptIds = await createOnHost(home.gateway_id);
    const removedIds = await createOnHost(other.id);
    expect(removedIds).toHaveLength(1);
    expect((await world.call("DELETE", `/api/v1/gateways/${other.id}`, token(home))).status).toBe(200);
    const [job] = await cleanups();
    expect(job).toMatchObject({ organization_id: home.organization_id, gateway_id: null, status: "queued" });
    expect(await agentsOn(other.id)).toEqual([]);
    await deliverJobs();
    expect(agentIdsOnHost()).toEqual(keptIds);
  });

  test("deleting a gateway that a board uses is refused and creates no clean-up job", async () => {
    const home = await world.tenant("home", host.url);
    const refused = await world.call("DELETE", `/api/v1/gateways/${home.gateway_id}`, token(home));
    expect(refused.status).toBe(409);
    expect(await cleanups()).toEqual([]);
    const [main] = await world.db
      .select()
      .from(schema.agents)
      .where(and(eq(schema.agents.gateway_id, home.gateway_id), isNull(schema.agents.board_id)));
    expect(main).toBeDefined();
  });
});
