import type { System } from "@board/core/context/actor";
import type { Context } from "@board/core/context/context";
import type { CompletionWrite, JobHandler } from "@board/core/job/handler";
import { GatewayError } from "../wire/gateway-error.ts";
import type { DesiredEntry } from "../host/config.ts";
import { configureEntries } from "../host/configure.ts";
import { findEntry, hasAgentsBesideDefault, type HostEntry, listEntries } from "../host/entries.ts";
import { isMissingSession, toGatewayMessage } from "../wire/failure.ts";
import { createDeadline } from "../host/deadline.ts";
import { type Host, openReachableHost } from "../host/open.ts";
import { trackConnectivity } from "./connectivity.ts";
import { type GatewayRow, toTarget, findUsableGateway } from "@board/core/gateway/target";
import type { ProvisionPayload } from "@board/core/job/kinds";
import { readSubjects } from "../template/template-data.ts";
import { isBelowMinimum, type PlacementToken, placeOnHost } from "./write-files.ts";
import { listWaitingEntries, toDesiredEntry } from "./heartbeat-config.ts";
import { isTokenOf, readAgentToken } from "./host-token.ts";
import type { AgentRow } from "@board/core/agent/agent";
import { mintToken } from "@board/core/agent/token";
import {
  beginProvision,
  beginUpdate,
  failProvision,
  failUpdate,
  type AgentWithOrganization,
  completeProvisioning,
  recordAgentEvent,
} from "@board/core/agent/lifecycle";
import { Superseded } from "@board/core/agent/token-rotation";
import { holdWakeUp, recordWakeSent, sendWakeUp } from "./wake.ts";

/** Time limit of one attempt, including waits for a restart of the host and for the config lock. */
const ATTEMPT_BUDGET_MS = 60_000;

interface ProvisionWork {
  verb: "provisioned" | "updated";
  payload: ProvisionPayload;
  job_id: string;
  /** The agent's new token; null keeps the token on the host. */
  secret: string | null;
  /**
   * True if the agent's new token is already stored. If `secret` is null as well, the job ended before, which erased the token.
   */
  rotates_token: boolean;
  force_bootstrap: boolean;
}

/** Creates an agent on its host: entry, files, settings, wake-up (docs/reference/gateways.md#steps-of-provisioning). */
export const provisionAgent: JobHandler<"agent.provision"> = {
  async run(ctx, payload, { id: job_id, secret }) {
    const agent = await beginProvision(ctx, payload.agent_id, payload.generation);
    const work = { verb: "provisioned", payload, job_id, secret, rotates_token: false, force_bootstrap: false } as const;
    if (agent) return runOnHost(ctx, agent, work);
  },
  async onRetry(ctx, { agent_id, generation }, reason) {
    await failProvision(ctx, agent_id, generation, { error: toGatewayMessage(reason), is_last: false });
  },
  async onDead(ctx, { agent_id, generation, user_id }, reason) {
    const error = toGatewayMessage(reason);
    const agent = await failProvision(ctx, agent_id, generation, { error, is_last: true });
    if (agent)
      await recordFailureEvents(ctx, agent, "agent.provision.failed", `Provisioning ${agent.name} failed: ${error}`, user_id);
  },
};

/** Rewrites the files of an agent on its host. The token stays the same, unless people have replaced it. */
export const updateAgentFiles: JobHandler<"agent.update"> = {
  async run(ctx, payload, { id: job_id, lane, secret }) {
    const agent = await beginUpdate(ctx, payload.agent_id, lane);
    const { force_bootstrap, rotates_token = false } = payload;
    if (agent) return runOnHost(ctx, agent, { verb: "updated", payload, job_id, secret, rotates_token, force_bootstrap });
  },
  async onRetry(ctx, { agent_id }, reason, lane) {
    await failUpdate(ctx, agent_id, lane, toGatewayMessage(reason));
  },
  async onDead(ctx, { agent_id, user_id }, reason, lane) {
    const error = toGatewayMessage(reason);
    const agent = await failUpdate(ctx, agent_id, lane, error);
    if (agent) await recordFailureEvents(ctx, agent, "agent.update.failed", `Updating ${agent.name} failed: ${error}`, user_id);
  },
};

async function recordFailureEvents(
  ctx: Context,
  agent: AgentWithOrganization,
  event_type: "agent.provision.failed" | "agent.update.failed",
  message: string,
  user_id: string | null,
): Promise<void> {
  await recordAgentEvent(ctx, agent, event_type, message, user_id);
  await recordAgentEvent(ctx, agent, "agent.error", message, user_id);
}

/** Does the work on the host, and returns a function that writes the result. Returns nothing when the work was superseded. */
async function runOnHost(
  ctx: Context<System>,
  agent: AgentWithOrganization,
  work: ProvisionWork,
): Promise<CompletionWrite | void> {
  const gateway = await findUsableGateway(ctx, agent.gateway_id);
  if (!gateway) return;
  try {
    const result = await trackConnectivity(ctx, gateway, () => provisionOnHost(ctx, gateway, agent, work));
    return (ctx) => recordSuccess(ctx, agent, work, result);
  } catch (error) {
    if (!(error instanceof Superseded)) throw error;
  }
}

interface HostResult {
  /** A problem that the user has to solve, for example that a token cannot be read. */
  problem: string | null;
  /** Null if no wake-up was requested, or if it was held back. */
  woken_at: Date | null;
}

/** Provisions the agent. Every step checks what the host already has, so the whole sequence can be retried. */
async function provisionOnHost(
  ctx: Context<System>,
  gateway: GatewayRow,
  agent: AgentWithOrganization,
  work: ProvisionWork,
): Promise<HostResult> {
  const { payload, verb } = work;
  const { policy } = createDeadline(ATTEMPT_BUDGET_MS);
  const host = await openReachableHost(ctx, { id: gateway.id, target: toTarget(ctx, gateway) }, policy);
  const [subject] = await readSubjects(ctx, gateway, [agent.id], payload.user_id);
  if (subject?.agent.lifecycle_generation !== agent.lifecycle_generation) throw new Superseded();
  const findWaiting = () => listWaitingEntries(ctx, gateway, agent.id);
  const present = await addWaitingEntries(host, toDesiredEntry(gateway, subject.agent), findWaiting);
  const { files, problem } = await placeOnHost(ctx, host, subject, {
    create: true,
    present,
    findToken: () => findToken(ctx, host, subject.agent, work),
    without_token: "skip_tools",
    first: verb === "provisioned",
    force_bootstrap: work.force_bootstrap,
    overwrite: false,
    below_minimum: isBelowMinimum(ctx, host, gateway),
  });
  if (files === null) throw new GatewayError(problem, { retryable: false });
  if (files.error) throw new GatewayError(files.error, { retryable: false });
  const { warnings } = files;
  const refused_keys = await configureEntry(host, toDesiredEntry(gateway, subject.agent), findWaiting);
  if (refused_keys.length > 0 || warnings.length > 0)
    ctx.log.info("agent.provisioned_partially", "Host accepted only part of an agent", {
      agent_id: agent.id,
      gateway_id: gateway.id,
      keys: refused_keys,
      warnings,
    });
  if (payload.reset) await resetSession(host, agent);
  const woken_at = payload.wake ? await sendWakeUp(ctx, host, agent, { verb, deliver: payload.deliver }, work.job_id) : null;
  return { problem, woken_at };
}

/** Chooses the token for TOOLS.md: the one that the job brings, else the one that the host has. */
async function findToken(
  ctx: Context,
  host: Host,
  agent: AgentRow,
  { secret, rotates_token }: ProvisionWork,
): Promise<PlacementToken> {
  if (secret !== null && !rotates_token) return { token: secret, problem: null, is_new: true };
  // A token that is no longer stored has been replaced, so it must not become valid again.
  if (secret !== null && (await isTokenOf(ctx, agent, secret))) return { token: secret, problem: null, is_new: false };
  const found = await readAgentToken(ctx, host, agent);
  // The host never got the new token, and the job's copy of the token is erased. So the agent gets another new token.
  if (found.token === null && rotates_token && secret === null) return { token: mintToken(), problem: null, is_new: true };
  return { ...found, is_new: false };
}

/**
 * Adds all agents that wait for their first entry on a host in one change of its configuration, and returns the host's entries. A
 * host whose configuration lists no agents is not changed, because the change would remove its implicit default agent.
 */
async function addWaitingEntries(
  host: Host,
  entry: DesiredEntry,
  findWaiting: () => Promise<readonly DesiredEntry[]>,
): Promise<readonly HostEntry[]> {
  const present = await listEntries(host);
  const isMissing = ({ id }: DesiredEntry) => findEntry(present, id) === undefined;
  if (!isMissing(entry) || !hasAgentsBesideDefault(present)) return present;
  if (!(await findWaiting()).some(isMissing)) return present;
  await configureEntry(host, entry, findWaiting);
  return listEntries(host);
}

/** Makes the error of a rate limit that lasts longer than this attempt retryable, so that the job tries again after the limit. */
async function configureEntry(
  host: Host,
  entry: DesiredEntry,
  findWaiting: () => Promise<readonly DesiredEntry[]>,
): Promise<string[]> {
  try {
    return await configureEntries(host, [entry], findWaiting);
  } catch (error) {
    if (!(error instanceof GatewayError) || (error.failure.retry_after_ms ?? null) === null) throw error;
    throw new GatewayError(error.message, { ...error.failure, retryable: true });
  }
}

async function resetSession(host: Host, { openclaw_session_id }: AgentWithOrganization): Promise<void> {
  try {
    await host.call("sessions.reset", { key: openclaw_session_id });
  } catch (error) {
    if (!isMissingSession(error)) throw error;
  }
}

async function recordSuccess(
  ctx: Context<System>,
  before: AgentWithOrganization,
  { verb, payload }: ProvisionWork,
  result: HostResult,
): Promise<void> {
  const agent = await completeProvisioning(ctx, before, result.problem);
  if (!agent) return;
  const { user_id, deliver, wake } = payload;
  if (verb === "provisioned") {
    await recordAgentEvent(ctx, agent, "agent.provisioned", `Agent provisioned: ${agent.name}.`, user_id);
    await recordAgentEvent(ctx, agent, "agent.provision.direct", `Files of ${agent.name} written to its host.`, user_id);
  } else await recordAgentEvent(ctx, agent, "agent.update.direct", `Files of ${agent.name} updated on its host.`, user_id);
  if (result.woken_at) await recordWakeSent(ctx, agent, result.woken_at, { verb, deliver, user_id });
  else if (wake) await holdWakeUp(ctx, agent, { verb, deliver });
}
