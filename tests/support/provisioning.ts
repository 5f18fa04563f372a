import { setTimeout as pause } from "node:timers/promises";
import type { System } from "@board/core/context/actor";
import { enqueueUpdate } from "@board/core/agent/jobs";
import { type Context, transaction } from "@board/core/context/context";
import { activity_events, agents, jobs } from "@board/core/schema/all-tables";
import { deliver } from "@board/api/work/handlers";
import type { Gateways } from "@board/core/context/gateways";
import type { JobRow } from "@board/core/job/job";
import { markUnsent, relay } from "@board/core/job/relay";
import type { JobKind } from "@board/core/job/kinds";
import { parseToken } from "@board/openclaw/template/token-line";
import { and, desc, eq, sql } from "drizzle-orm";
import { listEvents } from "./activity.ts";
import { type FakeGateway, startFakeGateway } from "./fake-gateway/server.ts";
import { onLambda } from "./target.ts";
import { createWorld, type Tenant, type World } from "./world.ts";

export const SECOND_MS = 1_000;
/** Longer than the longest delay between two attempts of a job that provisions or updates an agent. */
export const MAX_RETRY_DELAY_MS = 331 * SECOND_MS;

export type Agent = typeof agents.$inferSelect;

/** An agent as returned by its creation. */
export interface NewAgent {
  id: string;
  auth_token: string;
  openclaw_session_id: string;
}

/** A world with a tenant and a host of a release that needs no pauses between writes. */
interface HostedWorld {
  world: World;
  host: FakeGateway;
  home: Tenant;
  /** Prepares the next test: it deletes the jobs, starts the host, and clears its faults and calls. */
  reset(): Promise<void>;
  close(): Promise<void>;
}

export async function createHostedWorld(): Promise<HostedWorld> {
  const world = await createWorld();
  const host = await startFakeGateway({ token: "test-token-123", dialect: "2026.9.6" });
  return {
    world,
    host,
    home: await world.tenant("home", host.url),
    async reset() {
      await host.start();
      await world.db.delete(jobs);
      host.faults.failures.length = 0;
      host.faults.patch_limit = null;
      host.calls.length = 0;
      host.messages.length = 0;
    },
    async close() {
      await world.close();
      await host.close();
    },
  };
}

/** Adds a board without agents. */
export async function addEmptyBoard(world: World, tenant: Tenant, gateway_id = tenant.gateway_id): Promise<string> {
  const body = { name: "Site", description: "A board", gateway_id, max_agents: 50 };
  return (await world.call("POST", "/api/v1/boards", { token: tenant.owner.token, body })).body.id;
}

export async function addAgent(world: World, tenant: Tenant, board_id: string, changed: object = {}): Promise<NewAgent> {
  const body = { name: "Ann", board_id, ...changed };
  const created = await world.call("POST", "/api/v1/agents", { token: tenant.owner.token, body });
  if (created.status !== 200) throw new Error(`/api/v1/agents: ${created.status} ${created.text}`);
  return created.body;
}

/** Adds an agent that is provisioned and has sent a heartbeat, and clears the jobs and calls of its creation. */
export async function addCheckedInAgent({ world, host, home }: HostedWorld): Promise<NewAgent> {
  const agent = await addAgent(world, home, await addEmptyBoard(world, home));
  await world.drain();
  await world.call("GET", "/api/v1/agent/healthz", { agent: agent.auth_token });
  await world.db.delete(jobs);
  await world.db.delete(activity_events);
  host.calls.length = 0;
  host.messages.length = 0;
  return agent;
}

/** Changes an agent and enqueues the update of its host, as requests do. */
export const changeAgent = (
  { world, home }: HostedWorld,
  { id }: NewAgent,
  values: Partial<typeof agents.$inferInsert> = {},
  options: { force_bootstrap?: boolean; wake?: boolean } = {},
): Promise<void> =>
  transaction(world.context(), async (ctx) => {
    const [agent] = await ctx.db
      .update(agents)
      .set({ name: "Ann", ...values })
      .where(eq(agents.id, id))
      .returning();
    await enqueueUpdate(ctx, agent!, { organization_id: home.organization_id, user_id: null, reset: true, ...options });
  });

/** Runs due jobs until no due job is left. The jobs of different lanes run in parallel, as in a consumer. */
export async function deliverConcurrently(world: World, own?: () => Context<System>): Promise<void> {
  // On Lambdas the consumers run the jobs; a given context always runs them in this process.
  if (onLambda && !own) return void (await world.drain());
  const context = own ?? (() => world.context());
  /** Jobs that are due later. They count as sent until the end, since a relay takes only so many at a time. */
  const later: string[] = [];
  for (;;) {
    const due: string[] = [];
    const sent = await relay(context(), async (wakeUps) => {
      for (const { id, delay_seconds } of wakeUps) (delay_seconds === 0 ? due : later).push(id);
      return { failed: [] };
    });
    if (sent === 0) return markUnsent(context(), later);
    await Promise.all(due.map((id) => deliver(context(), id)));
  }
}

export async function getAgentRow(world: World, id: string): Promise<Agent> {
  const [row] = await world.db.select().from(agents).where(eq(agents.id, id));
  if (!row) throw new Error(`There is no agent ${id}`);
  return row;
}

/** Stops a host and waits until the service has noticed, since an open connection counts as working. */
export async function stopHost(world: World, host: FakeGateway): Promise<void> {
  await host.stop();
  const target = { url: host.url, token: "test-token-123", disable_device_pairing: false, allow_insecure_tls: false };
  const isThere = () =>
    world
      .context()
      .gateways.hello(target)
      .then(
        () => true,
        () => false,
      );
  while (await isThere()) await pause(5);
}

/** Returns the newest job of a kind for an agent. */
export async function getAgentJob(world: World, kind: JobKind, agent_id: string): Promise<JobRow> {
  const [job] = await listAgentJobs(world, kind, agent_id);
  if (!job) throw new Error(`There is no ${kind} for agent ${agent_id}`);
  return job;
}

export const listAgentJobs = (world: World, kind: JobKind, agent_id: string): Promise<JobRow[]> =>
  world.db
    .select()
    .from(jobs)
    .where(and(eq(jobs.kind, kind), sql`${jobs.payload} ->> 'agent_id' = ${agent_id}`))
    .orderBy(desc(jobs.seq));

/** Returns the types of an agent's activity events in order. */
export async function listActivityTypes(world: World, agent_id: string): Promise<string[]> {
  const rows = await listEvents(world, { agent_id });
  return rows.map(({ event_type }) => event_type);
}

/** Returns an agent's files on a host by name. */
export function filesOf(host: FakeGateway, { openclaw_session_id }: { openclaw_session_id: string | null }): Map<string, string> {
  const folder = openclaw_session_id!.split(":")[1]!.replace(/^mc-gateway-/, "gateway-");
  const files = host.host.files.get(`/srv/agents/workspace-${folder}`) ?? new Map<string, { content: string }>();
  return new Map([...files].map(([name, { content }]) => [name, content]));
}

/** Returns the tokens in an agent's files on a host, each with its file. */
export const tokensOf = (host: FakeGateway, agent: { openclaw_session_id: string | null }): [string, string][] =>
  [...filesOf(host, agent)].flatMap(([name, content]): [string, string][] => {
    const token = parseToken(content);
    return token === null ? [] : [[name, token]];
  });

export const messagesTo = (host: FakeGateway, { openclaw_session_id }: { openclaw_session_id: string | null }) =>
  host.messages.filter(({ session_key }) => session_key === openclaw_session_id);

/** Returns the calls of a method in the order of their arrival. */
export const callsOf = (host: FakeGateway, method: string) =>
  host.calls.filter((call) => call.method === method).map(({ params }) => params as Record<string, unknown>);

/** Returns a context whose calls to hosts pass through `around`. */
export function interceptHostCalls(
  world: World,
  around: (method: string, call: () => Promise<unknown>) => Promise<unknown>,
): () => Context<System> {
  return () => {
    const ctx = world.context();
    const gateways: Gateways = {
      ...ctx.gateways,
      request: (target, method, params, options) => around(method, () => ctx.gateways.request(target, method, params, options)),
    };
    return { ...ctx, gateways };
  };
}
