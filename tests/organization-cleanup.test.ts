import * as schema from "@board/core/db/schema";
import { hostAgentId } from "@board/core/agent/host";
import { redriveJobs } from "@board/core/job/job";
import { unseal } from "@board/core/seal";
import { and, count, eq, getTableName, is, isNull } from "drizzle-orm";
import { PgTable } from "drizzle-orm/pg-core";
import { afterEach, beforeEach, describe, expect, test } from "vitest";
import { agentsOf } from "../packages/local/src/fake-gateway/config.ts";
import { type FakeGateway, startFakeGateway } from "../packages/local/src/fake-gateway/server.ts";
import { fillOrganization } from "./support/full-organization.ts";
import { takeAway, workTogether } from "./support/provisioning.ts";
import { createWorld, type Person, type Tenant, type World } from "./support/world.ts";

const HOST_TOKEN = "test-token-123";
/** All tables but those of the service as a whole, and the turns at hosts, which outlive their gateways. */
const tables = Object.values(schema as Record<string, unknown>)
  .filter((one): one is PgTable => is(one, PgTable))
  .filter((table) => !["rate_counters", "service_keys", "host_turns", "activity_counted"].includes(getTableName(table)));

/** What is left of an organization or a gateway that is deleted: no row, and nothing on its host. */
let world: World;
let host: FakeGateway;

const token = (tenant: Tenant) => ({ token: tenant.owner.token });
const removeActive = ({ token }: Person) => world.call("DELETE", "/organizations/me", { token });

async function countRows(): Promise<Record<string, number>> {
  const counts: Record<string, number> = {};
  for (const table of tables) counts[getTableName(table)] = (await world.db.select({ rows: count() }).from(table))[0]!.rows;
  return counts;
}

/** The ids of the agents that the host knows, without its own. */
const onHost = () =>
  agentsOf(host.host.config.runtime(), host.host.dialect)
    .map(({ id }) => id)
    .filter((id) => id !== "main")
    .toSorted();

const agentsOn = (gateway_id: string) => world.db.select().from(schema.agents).where(eq(schema.agents.gateway_id, gateway_id));
const hostIds = (rows: { openclaw_session_id: string | null }[]) =>
  rows.map((row) => hostAgentId(row.openclaw_session_id!)).toSorted();

/** Has the host run the agents of a gateway, as if they had been provisioned. */
async function settle(gateway_id: string): Promise<string[]> {
  const ids = hostIds(await agentsOn(gateway_id));
  for (const name of ids)
    await world.context().gateways.request(target(), "agents.create", { name, workspace: `/srv/agents/${name}` });
  return ids;
}

const target = () => ({ url: host.url, token: HOST_TOKEN, disable_device_pairing: false, allow_insecure_tls: false });

const cleanups = () => world.db.select().from(schema.jobs).where(eq(schema.jobs.kind, "agent.cleanup"));

/** Side by side, as the queue's batches do: a clean-up waits for five seconds on the way. */
const work = () => workTogether(world);

beforeEach(async () => {
  world = await createWorld();
  host = await startFakeGateway({ token: HOST_TOKEN, dialect: "2026.9.6" });
});
afterEach(async () => {
  await world.close();
  await host.close();
});

describe("deleting an organization", () => {
  test("removes every row of it and leaves the clean-up jobs, which remove its agents from the host", async () => {
    const neighbour = await world.tenant("neighbour", host.url);
    const stays = await settle(neighbour.gateway_id);
    await world.person("colleague").then(({ token }) => world.call("GET", "/api/v1/users/me", { token }));
    await world.person("doomed").then(({ token }) => world.call("GET", "/api/v1/users/me", { token }));
    await work();
    const before = await countRows();

    const doomed = await world.tenant("doomed", host.url);
    const goes = await settle(doomed.gateway_id);
    await fillOrganization(world, doomed);
    const full = await countRows();
    const empty = tables.map(getTableName).filter((name) => name !== "users" && full[name]! <= before[name]!);
    expect(empty, "tables that this test leaves empty").toEqual([]);
    expect(onHost()).toEqual([...stays, ...goes].toSorted());

    const removed = await removeActive(doomed.owner);
    expect([removed.status, removed.body]).toEqual([200, { ok: true }]);
    const left = await countRows();
    expect({ ...left, jobs: 0 }).toEqual({ ...before, jobs: 0 });
    const jobs = (await world.db.select().from(schema.jobs)).filter(({ status }) => status === "queued");
    expect(jobs.map(({ kind, organization_id, gateway_id }) => [kind, organization_id, gateway_id])).toEqual(
      goes.map(() => ["agent.cleanup", null, null]),
    );
    for (const job of jobs) {
      expect(JSON.stringify(job.payload)).not.toContain(HOST_TOKEN);
      expect(JSON.parse(unseal(world.settings.encryption_key, job.secret_sealed!))).toMatchObject({
        url: host.url,
        token: HOST_TOKEN,
      });
    }

    await work();
    expect(onHost()).toEqual(stays);
    const ended = await cleanups();
    expect(ended.map(({ status, secret_sealed }) => [status, secret_sealed])).toEqual(goes.map(() => ["done", null]));
  });

  test("a host that is down is cleaned when it is back", async () => {
    const home = await world.tenant("home", host.url);
    await settle(home.gateway_id);
    await takeAway(world, host);
    expect((await removeActive(home.owner)).status).toBe(200);
    await work();
    expect((await cleanups()).map(({ status, attempts }) => [status, attempts])).toEqual(Array(3).fill(["queued", 1]));
    await host.start();
    world.elapse(12_000);
    await work();
    expect(onHost()).toEqual([]);
  });

  test("a clean-up that is given up ends as dead: there is nobody left to tell", async () => {
    const home = await world.tenant("home");
    await removeActive(home.owner);
    for (let attempt = 1; attempt <= 10; attempt++) {
      await work();
      world.elapse(700_000);
    }
    expect((await cleanups()).map(({ status, attempts }) => [status, attempts])).toEqual(Array(3).fill(["dead", 10]));
    expect(await redriveJobs({ ...world.context() })).toHaveLength(3);
  });

  test("a clean-up that waited from before still finds the host", async () => {
    const home = await world.tenant("home", host.url);
    const all = await settle(home.gateway_id);
    await takeAway(world, host);
    const board = await world.call("DELETE", `/api/v1/boards/${home.board_id}`, token(home));
    expect(board.status).toBe(200);
    expect((await cleanups()).map(({ secret_sealed }) => secret_sealed)).toEqual([null, null]);
    expect((await removeActive(home.owner)).status).toBe(200);
    expect(await cleanups()).toHaveLength(all.length);
    await host.start();
    await work();
    expect(onHost()).toEqual([]);
  });
});

describe("deleting a gateway", () => {
  test("removes its main agent from the host, with the connection that the gateway had", async () => {
    const home = await world.tenant("home", host.url);
    const other = (
      await world.call("POST", "/api/v1/gateways", {
        ...token(home),
        body: { name: "Other", url: host.url, workspace_root: "/srv/agents", token: HOST_TOKEN },
      })
    ).body;
    const stays = await settle(home.gateway_id);
    const goes = await settle(other.id);
    expect(goes).toHaveLength(1);
    expect((await world.call("DELETE", `/api/v1/gateways/${other.id}`, token(home))).status).toBe(200);
    const [job] = await cleanups();
    expect(job).toMatchObject({ organization_id: home.organization_id, gateway_id: null, status: "queued" });
    expect(await agentsOn(other.id)).toEqual([]);
    await work();
    expect(onHost()).toEqual(stays);
  });

  test("is refused while a board uses it, and then cleans nothing up", async () => {
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
