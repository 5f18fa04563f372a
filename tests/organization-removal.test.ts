import * as schema from "@board/core/db/schema";
import { deliver } from "@board/core/deliver";
import { hostAgentId } from "@board/core/agent/host";
import { redriveJobs, relay } from "@board/core/job/job";
import { unseal } from "@board/core/seal";
import { and, count, eq, getTableName, is, isNull } from "drizzle-orm";
import { PgTable } from "drizzle-orm/pg-core";
import { afterEach, beforeEach, describe, expect, test, vi } from "vitest";
import { agentsOf } from "../packages/local/src/fake-gateway/config.ts";
import { type FakeGateway, startFakeGateway } from "../packages/local/src/fake-gateway/server.ts";
import { addJob } from "./support/jobs.ts";
import { onLambda } from "./support/target.ts";
import { createWebhook, deposit } from "./support/webhook.ts";
import { createWorld, type Person, type Tenant, type World } from "./support/world.ts";

const HOST_TOKEN = "test-token-123";
/** All tables but those of the service as a whole, and the turns at hosts, which outlive their gateways. */
const tables = Object.values(schema as Record<string, unknown>)
  .filter((one): one is PgTable => is(one, PgTable))
  .filter((table) => !["rate_counters", "service_keys", "host_turns", "activity_counted"].includes(getTableName(table)));

let world: World;
let host: FakeGateway;

const token = (tenant: Tenant) => ({ token: tenant.owner.token });
const removeActive = (person: Person, prefix = "/organizations") => world.call("DELETE", `${prefix}/me`, { token: person.token });

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

/** Stops the host, until the service knows: a connection that it still believes in would have it wait for a restart. */
async function stopHost(): Promise<void> {
  await host.stop();
  const isGone = () =>
    world
      .context()
      .gateways.hello(target())
      .then(
        () => false,
        () => true,
      );
  await vi.waitUntil(isGone, { timeout: 10_000, interval: 5 });
}

const cleanups = () => world.db.select().from(schema.jobs).where(eq(schema.jobs.kind, "agent.cleanup"));

/** Works on everything that is due, side by side, as the queue's batches do: a clean-up waits for five seconds on the way. */
async function work(): Promise<void> {
  if (onLambda) return void (await world.drain());
  for (let taken = 1; taken > 0; ) {
    const due: string[] = [];
    taken = await relay(world.context(), async (wakeUps) => {
      const [now, later] = [wakeUps.filter((one) => one.delay_seconds === 0), wakeUps.filter((one) => one.delay_seconds > 0)];
      due.push(...now.map(({ id }) => id));
      return { failed: later.map(({ id }) => id) };
    });
    await Promise.all(due.map((id) => deliver(world.context(), id)));
  }
}

beforeEach(async () => {
  world = await createWorld();
  host = await startFakeGateway({ token: HOST_TOKEN, dialect: "2026.9.6" });
});
afterEach(async () => {
  await world.close();
  await host.close();
});

/** At least one row in every table that belongs to organizations. */
async function fill(tenant: Tenant): Promise<void> {
  const { organization_id, board_id, gateway_id, worker } = tenant;
  const post = async (path: string, body: object) => {
    const made = await world.call("POST", path, { ...token(tenant), body });
    if (made.status !== 200) throw new Error(`${path}: ${made.status} ${made.text}`);
    return made.body;
  };
  const { db } = world;
  const [owner] = await db.select().from(schema.users).where(eq(schema.users.auth_subject, tenant.owner.subject));
  await deposit(world, await createWebhook(world, tenant, { agent_id: worker.id }));
  await addJob(world, tenant, { gateway_id, lane: "some lane" });
  const tag = await post("/api/v1/tags", { name: "Tag" });
  await post("/organizations/me/invites", { invited_email: "guest@example.com", board_access: [{ board_id }] });

  const [group] = await db.insert(schema.board_groups).values({ organization_id, name: "Group", slug: "group" }).returning();
  await db.update(schema.boards).set({ board_group_id: group!.id }).where(eq(schema.boards.id, board_id));
  await db.insert(schema.board_group_memory).values({ board_group_id: group!.id, content: "Remember" });
  await db.insert(schema.board_memory).values({ board_id, content: "Remember" });
  await db.insert(schema.board_onboarding_sessions).values({ board_id, session_key: "agent:main:main" });

  const own = { board_id, assigned_agent_id: worker.id, created_by_user_id: owner!.id };
  const made = await db
    .insert(schema.tasks)
    .values([
      { ...own, title: "First" },
      { ...own, title: "Second" },
    ])
    .returning();
  const [task_id, depends_on_task_id] = [made[0]!.id, made[1]!.id];
  await db.insert(schema.task_dependencies).values({ board_id, task_id, depends_on_task_id, position: 0 });
  await db.insert(schema.tag_assignments).values({ task_id, tag_id: tag.id, position: 0 });
  const field = {
    organization_id,
    field_key: "cost",
    label: "Cost",
    field_type: "integer" as const,
    ui_visibility: "always" as const,
  };
  const [definition] = await db.insert(schema.task_custom_field_definitions).values(field).returning();
  await db.insert(schema.board_task_custom_fields).values({ board_id, definition_id: definition!.id });
  await db.insert(schema.task_custom_field_values).values({ task_id, definition_id: definition!.id, value: 5 });
  const decided = { agent_id: worker.id, task_id, resolved_by_user_id: owner!.id };
  const [approval] = await db
    .insert(schema.approvals)
    .values({ ...decided, board_id, action_type: "deploy" })
    .returning();
  await db.insert(schema.approval_task_links).values({ approval_id: approval!.id, task_id, position: 0, pending: true });
  await db.insert(schema.task_transitions).values({ board_id, task_id, to_status: "inbox", at: new Date(), user_id: owner!.id });
  const [run] = await db
    .insert(schema.sync_runs)
    .values({ gateway_id, cause: "request", status: "done", options: {} })
    .returning();
  const synced = { run_id: run!.id, agent_id: worker.id, agent_name: "Worker", is_main: false, position: 0 };
  await db.insert(schema.sync_run_agents).values({ ...synced, status: "success" });
  const about = { organization_id, board_id, task_id, agent_id: worker.id, user_id: owner!.id };
  await db.insert(schema.activity_events).values([
    { ...about, event_type: "task.comment", message: "Done" },
    { organization_id, event_type: "gateway.connected" },
  ]);
  await db.insert(schema.activity_counts).values({ board_id, hour: new Date(), events: 1, failed: 0, comments: 1 });
  const source_url = "https://github.com/acme/skills";
  const [skill] = await db.insert(schema.marketplace_skills).values({ organization_id, name: "Skill", source_url }).returning();
  await db.insert(schema.gateway_installed_skills).values({ gateway_id, skill_id: skill!.id });
  const [pack] = await db.insert(schema.skill_packs).values({ organization_id, name: "Pack", source_url }).returning();
  await db.insert(schema.skill_pack_syncs).values({ pack_id: pack!.id });

  const member_id = await world.join(await world.person("colleague"), organization_id, "member");
  await db
    .insert(schema.organization_board_access)
    .values({ organization_member_id: member_id, board_id, can_read: true, can_write: true });
}

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
    await fill(doomed);
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

  test("is for owners, under both prefixes", async () => {
    for (const prefix of ["/organizations", "/api/v1/organizations"]) {
      const person = await world.person(`owner ${prefix}`);
      const made = (await world.call("POST", prefix, { token: person.token, body: { name: "Short-lived" } })).body;
      const admin = await world.person(`admin ${prefix}`);
      await world.join(admin, made.id, "admin", { read: true, write: true });
      const member = await world.person(`member ${prefix}`);
      await world.join(member, made.id, "member");
      const refusedAdmin = await removeActive(admin, prefix);
      expect([refusedAdmin.status, refusedAdmin.body]).toEqual([
        403,
        { detail: "Only organization owners can delete organizations" },
      ]);
      const refusedMember = await removeActive(member, prefix);
      expect([refusedMember.status, refusedMember.body]).toEqual([403, { detail: "Forbidden" }]);
      expect((await removeActive(person, prefix)).status).toBe(200);
    }
  });

  test("works for a personal organization that was made by itself; the next request makes a new one", async () => {
    const person = await world.person("personal");
    const first = (await world.call("GET", "/organizations/me", { token: person.token })).body;
    expect((await removeActive(person)).status).toBe(200);
    const second = (await world.call("GET", "/organizations/me", { token: person.token })).body;
    expect([second.name, second.id === first.id]).toEqual(["Personal", false]);
  });

  test("members work on in their oldest other membership, in none without one, and where they are if they are elsewhere", async () => {
    const owner = await world.person("owner");
    const create = async (person: Person, name: string) =>
      (await world.call("POST", "/organizations", { token: person.token, body: { name } })).body.id as string;
    const doomed = await create(owner, "Doomed");
    const [rich, poor, away] = [await world.person("rich"), await world.person("poor"), await world.person("away")];
    for (const one of [rich, poor, away]) await world.join(one, doomed, "member");
    const oldest = await create(rich, "Oldest");
    await create(rich, "Newest");
    await world.call("PATCH", "/organizations/me/active", { token: rich.token, body: { organization_id: doomed } });
    const elsewhere = await create(away, "Elsewhere");
    expect((await removeActive(owner)).status).toBe(200);
    const active = async (person: Person) =>
      (await world.db.select().from(schema.users).where(eq(schema.users.auth_subject, person.subject)))[0]!
        .active_organization_id;
    expect([await active(rich), await active(poor), await active(away), await active(owner)]).toEqual([
      oldest,
      null,
      elsewhere,
      null,
    ]);
  });

  test("ends what its agents could do at once", async () => {
    const home = await world.tenant("home");
    expect((await world.call("GET", "/api/v1/agent/healthz", { agent: home.lead.token })).status).toBe(200);
    await removeActive(home.owner);
    for (const agent of [home.lead.token, home.worker.token])
      expect((await world.call("GET", "/api/v1/agent/healthz", { agent })).status).toBe(401);
  });

  test("a host that is down is cleaned when it is back", async () => {
    const home = await world.tenant("home", host.url);
    await settle(home.gateway_id);
    await stopHost();
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
    await stopHost();
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
