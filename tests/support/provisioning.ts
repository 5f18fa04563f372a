import { setTimeout as pause } from "node:timers/promises";
import type { Context } from "@board/core/context";
import type { System } from "@board/core/actor";
import { activity_events, agents, jobs } from "@board/core/db/schema";
import { deliver } from "@board/core/deliver";
import type { Gateways } from "@board/core/gateway/client";
import { type JobRow, relay } from "@board/core/job/job";
import type { JobKind } from "@board/core/job/kinds";
import { readTokenLine } from "@board/core/template/token-line";
import { and, asc, desc, eq, sql } from "drizzle-orm";
import type { FakeGateway } from "../../packages/local/src/fake-gateway/server.ts";
import { onLambda } from "./target.ts";
import type { Tenant, World } from "./world.ts";

export const SECOND_MS = 1_000;
/** Longer than a failed attempt is waited for, however many there were. */
export const LONGEST_PAUSE_MS = 331 * SECOND_MS;

export type Agent = typeof agents.$inferSelect;

/** An agent as its creator was told of it. */
export interface NewAgent {
  id: string;
  auth_token: string;
  openclaw_session_id: string;
}

/** A board with nobody on it. */
export async function addEmptyBoard(world: World, tenant: Tenant, gateway_id = tenant.gateway_id): Promise<string> {
  const body = { name: "Site", description: "A board", gateway_id, max_agents: 50 };
  return (await world.call("POST", "/api/v1/boards", { token: tenant.owner.token, body })).body.id;
}

export async function addAgent(world: World, tenant: Tenant, board_id: string, changed: object = {}): Promise<NewAgent> {
  const body = { name: "Ann", board_id, ...changed };
  const made = await world.call("POST", "/api/v1/agents", { token: tenant.owner.token, body });
  if (made.status !== 200) throw new Error(`/api/v1/agents: ${made.status} ${made.text}`);
  return made.body;
}

/** Works on what is due until there is nothing left, lanes beside each other as consumers do. */
export async function workTogether(world: World, own?: () => Context<System>): Promise<void> {
  // There the consumers' own batches do; a context of the test's own is of this process.
  if (onLambda && !own) return void (await world.drain());
  const context = own ?? (() => world.context());
  for (;;) {
    const due: string[] = [];
    await relay(context(), async (wakeUps) => {
      due.push(...wakeUps.filter(({ delay_seconds }) => delay_seconds === 0).map(({ id }) => id));
      return { failed: wakeUps.filter(({ delay_seconds }) => delay_seconds > 0).map(({ id }) => id) };
    });
    if (due.length === 0) return;
    await Promise.all(due.map((id) => deliver(context(), id)));
  }
}

export async function agentRow(world: World, id: string): Promise<Agent> {
  const [row] = await world.db.select().from(agents).where(eq(agents.id, id));
  if (!row) throw new Error(`There is no agent ${id}`);
  return row;
}

/** Takes a host away, and waits until this service has noticed: a connection that is open passes for one that works. */
export async function takeAway(world: World, host: FakeGateway): Promise<void> {
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

/** The newest job of a kind for an agent. */
export async function jobFor(world: World, kind: JobKind, agent_id: string): Promise<JobRow> {
  const [job] = await jobsFor(world, kind, agent_id);
  if (!job) throw new Error(`There is no ${kind} for agent ${agent_id}`);
  return job;
}

export const jobsFor = (world: World, kind: JobKind, agent_id: string): Promise<JobRow[]> =>
  world.db
    .select()
    .from(jobs)
    .where(and(eq(jobs.kind, kind), sql`${jobs.payload} ->> 'agent_id' = ${agent_id}`))
    .orderBy(desc(jobs.seq));

/** What the activity log tells of an agent, in order. */
export async function toldOf(world: World, agent_id: string): Promise<string[]> {
  const rows = await world.db
    .select()
    .from(activity_events)
    .where(eq(activity_events.agent_id, agent_id))
    .orderBy(asc(activity_events.seq));
  return rows.map(({ event_type }) => event_type);
}

/** Files that a host has of an agent, by name. */
export function filesOf(host: FakeGateway, { openclaw_session_id }: { openclaw_session_id: string | null }): Map<string, string> {
  const folder = openclaw_session_id!.split(":")[1]!.replace(/^mc-gateway-/, "gateway-");
  const files = host.host.files.get(`/srv/agents/workspace-${folder}`) ?? new Map<string, { content: string }>();
  return new Map([...files].map(([name, { content }]) => [name, content]));
}

/** Tokens in the files that a host has of an agent, with the file that each is in. */
export const tokensOf = (host: FakeGateway, agent: { openclaw_session_id: string | null }): [string, string][] =>
  [...filesOf(host, agent)].flatMap(([name, content]): [string, string][] => {
    const token = readTokenLine(content);
    return token === null ? [] : [[name, token]];
  });

export const messagesTo = (host: FakeGateway, { openclaw_session_id }: { openclaw_session_id: string | null }) =>
  host.messages.filter(({ session_key }) => session_key === openclaw_session_id);

/** Calls of a method in the order of their arrival. */
export const callsOf = (host: FakeGateway, method: string) =>
  host.calls.filter((call) => call.method === method).map(({ params }) => params as Record<string, unknown>);

/** A context whose calls to hosts pass through `around`: what it does before and after is up to the test. */
export function between(
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
