import { setTimeout as pause } from "node:timers/promises";
import { mainSessionKey } from "@board/core/context/actor";
import { jobs } from "@board/core/schema/all-tables";
import type { FakeGateway } from "../../support/fake-gateway/server.ts";
import { eq } from "drizzle-orm";
import fc from "fast-check";
import type { CallOptions } from "../../support/http.ts";
import { tokensOf, deliverConcurrently } from "../../support/provisioning.ts";
import type { World } from "../../support/world.ts";
import type { Operation } from "./document.ts";
import { createPool, type Pool } from "./id-pool.ts";
import { HOST_TOKEN } from "./secrets.ts";

/** A caller and the rows that it mostly requests. */
export interface Caller {
  options: CallOptions;
  usual_ids: Readonly<Record<string, string>>;
}

/** An organization with all callers and its known ids. */
export interface FuzzTenant {
  organization_id: string;
  pool: Pool;
  callers: Readonly<Record<string, Caller>>;
}

const PEOPLE = ["owner", "admin", "member", "reader", "member without boards", "passer-by"];

/** The end of the path of an operation that only main agents may call, although it has no role tag. */
const MAIN_AGENT_PATH = "/onboarding/agent";

/** Operations that change a person's identity. They may be called only by callers that later requests do not need. */
const SELF_DELETING = ["DELETE /api/v1/users/me", "DELETE /organizations/me", "DELETE /api/v1/organizations/me"];

const weighted = (weights: Record<string, number>) =>
  fc.oneof(...Object.entries(weights).map(([name, weight]) => ({ weight, arbitrary: fc.constant(name) })));

/** Returns the callers of an operation: mostly the documented callers, sometimes any caller. */
export function callersFor({ name, users, agents, tags }: Operation): fc.Arbitrary<string> {
  const keys = { "writing key": users ? 3 : 1, "reading key": users ? 2 : 1 };
  const others = { nobody: 1, "another owner": 1, "another lead": 1, "another main agent": 1, "another writing key": 1, ...keys };
  if (SELF_DELETING.includes(name)) return weighted({ "passer-by": 12, lead: 1, ...others });
  if (!users && !agents) return weighted({ nobody: 3, owner: 1, worker: 1, ...keys });
  const accepts = name.includes("/invites/accept");
  const people = users
    ? { owner: accepts ? 1 : 16, admin: 3, member: 3, reader: 1, "member without boards": 1, "passer-by": accepts ? 16 : 1 }
    : { owner: 1 };
  const has = (tag: string) => tags.includes(tag);
  const hinted = has("agent");
  if (name.endsWith(MAIN_AGENT_PATH)) return weighted({ "main agent": 12, lead: 1, owner: 1, ...others });
  const ofAgents = agents
    ? {
        lead: !hinted || has("agent-lead") ? 6 : 1,
        worker: !hinted || has("agent-worker") ? 4 : 1,
        "main agent": !hinted || has("agent-main") ? 5 : 1,
      }
    : { lead: 1 };
  return weighted({ ...people, ...ofAgents, ...others });
}

/** Creates an organization on the host with all its callers. */
export async function createFuzzTenant(world: World, name: string, host: FakeGateway): Promise<FuzzTenant> {
  const owner = await world.person(name);
  const { token } = owner;
  const create = async (path: string, body: object) => (await world.call("POST", path, { token, body })).body;
  const place = { url: host.url, workspace_root: "/srv/agents", token: HOST_TOKEN };
  const { id: gateway_id, organization_id } = await create("/api/v1/gateways", { name: "Host", ...place });
  const { id: group_id } = await create("/api/v1/board-groups", { name: "Group" });
  const board = { name: "Board", description: "A board", gateway_id, board_group_id: group_id, max_agents: 50 };
  const { id: board_id } = await create("/api/v1/boards", board);
  const lead = await create("/api/v1/agents", { name: "Lead", board_id, is_board_lead: true });
  const worker = await create("/api/v1/agents", { name: "Worker", board_id });
  // This provisions the agents on their host, including the main agent's token. Another client may have taken their jobs.
  await deliverConcurrently(world);
  const tokens = () => tokensOf(host, { openclaw_session_id: mainSessionKey(gateway_id) });
  for (let tries = 0; tokens().length === 0 && tries < 100; tries++) {
    await pause(100);
    await deliverConcurrently(world);
  }
  const [main] = tokens();
  if (!main)
    throw new Error(`The main agent of ${gateway_id} was not provisioned on its host: ${await listJobs(world, gateway_id)}`);
  for (const agent of [lead.auth_token, worker.auth_token, main[1]])
    await world.call("POST", "/api/v1/agent/heartbeat", { agent });
  const everybody = await world.call("GET", "/api/v1/agents", { token });
  const own = await world.call("GET", "/organizations/me/member", { token });

  const pool = createPool();
  pool.add("organization", organization_id, {}, true);
  pool.add("gateway", gateway_id, {}, true);
  pool.add("group", group_id, {}, true);
  pool.add("board", board_id, { gateway_id }, true);
  for (const agent of everybody.body.items) pool.add("agent", agent.id, agent.board_id ? { board_id } : {}, true);
  for (const key of [lead.openclaw_session_id, mainSessionKey(gateway_id), "main"]) pool.add("session", key);
  pool.add("slug", "writer", { handle: "board" });
  pool.add("member", own.body.id, {}, true);
  for (const number of [1, 2, 3])
    pool.add("member", await world.join(await world.person(`guest-${number}-of-${name}`), organization_id, "member"));
  const passer_by = await world.person(`passer-by-of-${name}`);
  pool.add("email", `${passer_by.subject}@example.com`, {}, true);

  const usual_ids = { organization_id, gateway_id, board_id };
  const join = async (who: string, role: "admin" | "member", flags: { read?: boolean; write?: boolean }): Promise<Caller> => {
    const person = await world.person(`${who}-of-${name}`);
    pool.add("member", await world.join(person, organization_id, role, flags), {}, true);
    return { options: { token: person.token }, usual_ids };
  };
  const keyOf = async (access: "write" | "read", board_ids?: string[]): Promise<Caller> => {
    const { id, key } = await create("/api/v1/keys", { name: `A key to ${access}`, access, board_ids });
    pool.add("key", id, {}, true);
    return { options: { token: key }, usual_ids };
  };
  const callers = {
    owner: { options: { token }, usual_ids },
    admin: await join("admin", "admin", { write: true }),
    member: await join("member", "member", { write: true }),
    reader: await join("reader", "member", { read: true }),
    "member without boards": await join("outsider", "member", {}),
    "passer-by": { options: { token: passer_by.token }, usual_ids: {} },
    "writing key": await keyOf("write"),
    "reading key": await keyOf("read", [board_id]),
    lead: { options: { agent: lead.auth_token }, usual_ids: { board_id } },
    worker: { options: { agent: worker.auth_token }, usual_ids: { board_id, agent_id: worker.id } },
    "main agent": { options: { agent: main[1] }, usual_ids: { board_id } },
  };
  return { organization_id, pool, callers };
}

async function listJobs({ db }: World, gateway_id: string): Promise<string> {
  const { kind, status, attempts, run_at, sent_at, held_by, last_error } = jobs;
  const found = await db
    .select({ kind, status, attempts, run_at, sent_at, held_by, last_error })
    .from(jobs)
    .where(eq(jobs.gateway_id, gateway_id));
  return JSON.stringify(found);
}

/** Makes the tenant's organization active again after any request. */
export async function returnToOrganization(world: World, { organization_id, callers }: FuzzTenant, name: string): Promise<void> {
  if (!PEOPLE.includes(name) || name === "passer-by") return;
  const body = { organization_id };
  await world.call("PATCH", "/organizations/me/active", { ...callers[name]!.options, body });
}
