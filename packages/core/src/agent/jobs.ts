import type { Context } from "../context/context.ts";
import { type GatewayRow, isUsableGateway, toLastTarget } from "../gateway/target.ts";
import { enqueueAll, type NewJob, setSecretByGateway } from "../job/job.ts";
import { hostLane } from "../values/session-key.ts";

/** The columns of an agent that its jobs need. */
interface AgentRef {
  id: string;
  gateway_id: string;
  openclaw_session_id: string | null;
  lifecycle_generation: number;
}

interface ProvisionOptions {
  organization_id: string;
  /** The acting user, whose profile goes into the agent's files. */
  user_id: string | null;
  /** Whether to start a new session for the agent. */
  reset: boolean;
  wake?: boolean;
  deliver?: boolean;
}

/** Returns the user whose profile goes into the agent's files, or null if an agent or the system acts. */
export const actingUserId = ({ actor }: Context): string | null => (actor.type === "user" ? actor.user_id : null);

/**
 * Enqueues the provisioning of an agent with a new token, and inserts `extra_jobs` with the same statement. Call it in the
 * transaction that writes the agent's row.
 */
export async function enqueueProvision(
  ctx: Context,
  agent: AgentRef,
  options: ProvisionOptions & { auth_token: string },
  extra_jobs: readonly NewJob[] = [],
): Promise<void> {
  await enqueueAll(ctx, [...toProvisions(agent, options), ...extra_jobs]);
}

/** Returns the job that provisions an agent with a new token, or none for an agent that no host runs. */
export const toProvisions = (agent: AgentRef, { auth_token, ...options }: ProvisionOptions & { auth_token: string }): NewJob[] =>
  toJobs(agent, options).map((job) => ({ kind: "agent.provision", ...job, options: { ...job.options, secret: auth_token } }));

/**
 * Enqueues a rewrite of an agent's files. Call it in the transaction that changes the contents of the files. `auth_token` is the
 * agent's new token, which must be stored already. Without `auth_token`, the agent keeps its token.
 */
export async function enqueueUpdate(
  ctx: Context,
  agent: AgentRef,
  { force_bootstrap = false, auth_token, ...options }: ProvisionOptions & { force_bootstrap?: boolean; auth_token?: string },
  extra_jobs: readonly NewJob[] = [],
): Promise<void> {
  const token = auth_token === undefined ? null : { secret: auth_token };
  const update = toJobs(agent, options).map(
    (job): NewJob => ({
      kind: "agent.update",
      payload: { ...job.payload, force_bootstrap, ...(token && { rotates_token: true }) },
      options: { ...job.options, ...token },
    }),
  );
  await enqueueAll(ctx, [...update, ...extra_jobs]);
}

/** Returns no jobs for an agent without a session, since no host runs it. */
function toJobs(agent: AgentRef, { organization_id, user_id, reset, wake = true, deliver = false }: ProvisionOptions) {
  const { id: agent_id, gateway_id, openclaw_session_id, lifecycle_generation: generation } = agent;
  if (!openclaw_session_id) return [];
  const payload = { agent_id, generation, user_id, reset, wake, deliver };
  return [{ payload, options: { organization_id, gateway_id, lane: hostLane(gateway_id, openclaw_session_id) } }];
}

interface RemovedAgent {
  name: string;
  board_id: string | null;
  openclaw_session_id: string | null;
}

/** Enqueues the removal of an agent from its host. Call it in the transaction that deletes the agent's row. */
export const enqueueCleanup = (ctx: Context, gateway: GatewayRow, agent: RemovedAgent): Promise<void> =>
  enqueueAll(ctx, toCleanups(gateway, agent));

/**
 * Returns the job that removes an agent from its host, or none for an agent that no host runs. If the transaction also deletes the
 * gateway, the job needs the serialized connection.
 */
export function toCleanups(gateway: GatewayRow, agent: RemovedAgent, connection: string | null = null): NewJob[] {
  const session_key = agent.openclaw_session_id;
  if (!session_key || !isUsableGateway(gateway)) return [];
  const { id: gateway_id, organization_id } = gateway;
  const payload = { gateway_id, session_key, agent_name: agent.name, organization_id, board_id: agent.board_id };
  const owner = connection === null ? { gateway_id } : { secret: connection };
  return [{ kind: "agent.cleanup", payload, options: { organization_id, lane: hostLane(gateway_id, session_key), ...owner } }];
}

/**
 * Enqueues the removal of all agents of a gateway. Call it in the transaction that deletes the gateway. Clean-up jobs that are
 * already queued get the encrypted connection too, because they can no longer read it from the gateway.
 */
export async function enqueueCleanups(ctx: Context, gateway: GatewayRow, removed: readonly RemovedAgent[]): Promise<void> {
  const connection = JSON.stringify(toLastTarget(ctx, gateway));
  await setSecretByGateway(ctx, "agent.cleanup", gateway.id, connection);
  await enqueueAll(
    ctx,
    removed.flatMap((agent) => toCleanups(gateway, agent, connection)),
  );
}

interface GatewayRef {
  gateway_id: string;
  organization_id: string;
}

/**
 * Enqueues one job that writes the agents' heartbeat settings to the host, or no job if the list is empty. The same statement
 * inserts `extra_jobs`. Call it in the transaction that changes the settings.
 */
export async function enqueueHeartbeatConfig(
  ctx: Context,
  { gateway_id, organization_id }: GatewayRef,
  agent_ids: string[],
  extra_jobs: readonly NewJob[] = [],
): Promise<void> {
  const options = { organization_id, gateway_id, lane: gateway_id };
  const config: NewJob = { kind: "config.heartbeat", payload: { gateway_id, agent_ids }, options };
  await enqueueAll(ctx, [...(agent_ids.length > 0 ? [config] : []), ...extra_jobs]);
}
