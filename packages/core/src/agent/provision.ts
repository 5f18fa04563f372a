import type { System } from "../actor.ts";
import type { Context } from "../context.ts";
import type { Ending, JobHandler } from "../deliver.ts";
import { GatewayError } from "../gateway/client.ts";
import type { WantedEntry } from "../gateway/config.ts";
import { configureEntries } from "../gateway/configure.ts";
import { ensureEntry } from "../gateway/entries.ts";
import { isMissingSession, toGatewayMessage } from "../gateway/failure.ts";
import { type Host, openHost } from "../gateway/host.ts";
import { trackingReach } from "../gateway/reach.ts";
import { type RetryPolicy, SYNC_RETRY } from "../gateway/retry.ts";
import { findUsableGateway } from "../gateway/send.ts";
import { type GatewayRow, toTarget } from "../gateway/target.ts";
import type { ProvisionPayload } from "../job/kinds.ts";
import { readSubjects } from "../template/context.ts";
import { isBelowMinimum, writeAgentFiles } from "../template/host-files.ts";
import { DEFAULT_HEARTBEAT } from "./heartbeat-config.ts";
import { hostAgentId, workspacePath } from "./host.ts";
import { findHostToken, type HostToken } from "./host-token.ts";
import { beginProvision, beginUpdate, failProvision, failUpdate, type LiveAgent, settle, tell } from "./state.ts";
import { Superseded } from "./token-change.ts";
import { recordWake, wakeUp } from "./wake.ts";

/** How long one attempt puts up with a host that restarts, or that others are writing to. */
const ATTEMPT_MS = 60_000;

interface Work {
  verb: "provisioned" | "updated";
  payload: ProvisionPayload;
  job_id: string;
  /** The token to be, if the job brought one; otherwise the one on the host stays. */
  secret: string | null;
  force_bootstrap: boolean;
}

/** Makes an agent on its host: entry, files with its token, settings, and then wakes it (contract gateways.md §10). */
export const provisionAgent: JobHandler<"agent.provision"> = {
  async run(ctx, payload, { id: job_id, secret }) {
    const agent = await beginProvision(ctx, payload.agent_id, payload.generation);
    if (agent) return bring(ctx, agent, { verb: "provisioned", payload, job_id, secret, force_bootstrap: false });
  },
  async postponed(ctx, { agent_id, generation }, reason) {
    await failProvision(ctx, agent_id, generation, { error: toGatewayMessage(reason), is_last: false });
  },
  async failed(ctx, { agent_id, generation, user_id }, reason) {
    const error = toGatewayMessage(reason);
    const agent = await failProvision(ctx, agent_id, generation, { error, is_last: true });
    if (agent) await tellFailure(ctx, agent, "agent.provision.failed", `Provisioning ${agent.name} failed: ${error}`, user_id);
  },
};

/** Brings the files of an agent on its host up to date. Its token stays. */
export const updateAgentFiles: JobHandler<"agent.update"> = {
  async run(ctx, payload, { id: job_id, lane }) {
    const agent = await beginUpdate(ctx, payload.agent_id, lane);
    const { force_bootstrap } = payload;
    if (agent) return bring(ctx, agent, { verb: "updated", payload, job_id, secret: null, force_bootstrap });
  },
  async postponed(ctx, { agent_id }, reason, lane) {
    await failUpdate(ctx, agent_id, lane, toGatewayMessage(reason));
  },
  async failed(ctx, { agent_id, user_id }, reason, lane) {
    const error = toGatewayMessage(reason);
    const agent = await failUpdate(ctx, agent_id, lane, error);
    if (agent) await tellFailure(ctx, agent, "agent.update.failed", `Updating ${agent.name} failed: ${error}`, user_id);
  },
};

async function tellFailure(
  ctx: Context,
  agent: LiveAgent,
  event_type: "agent.provision.failed" | "agent.update.failed",
  message: string,
  user_id: string | null,
): Promise<void> {
  await tell(ctx, agent, event_type, message, user_id);
  await tell(ctx, agent, "agent.error", message, user_id);
}

/** Works on the host; what is returned writes how it ended. An agent that was overtaken needs nothing written. */
async function bring(ctx: Context<System>, agent: LiveAgent, work: Work): Promise<Ending | void> {
  const gateway = await findUsableGateway(ctx, agent.gateway_id);
  if (!gateway) return;
  try {
    const done = await trackingReach(ctx, gateway, () => workOnHost(ctx, gateway, agent, work));
    return (ctx) => recordSuccess(ctx, agent, work, done);
  } catch (error) {
    if (!(error instanceof Superseded)) throw error;
  }
}

interface Done {
  /** What people still have to see to. */
  problem: string | null;
  woken_at: Date | null;
}

/** Every step finds out what is there already, so that a repeat of all of them does no harm. */
async function workOnHost(ctx: Context<System>, gateway: GatewayRow, agent: LiveAgent, work: Work): Promise<Done> {
  const { payload, verb } = work;
  const host = await openPresentHost(ctx, gateway);
  const [subject] = await readSubjects(ctx, gateway, [agent.id], payload.user_id);
  if (subject?.agent.lifecycle_generation !== agent.lifecycle_generation) throw new Superseded();
  const id = hostAgentId(agent.openclaw_session_id ?? agent.name);
  const workspace = workspacePath(gateway.workspace_root, id);
  const entry = await ensureEntry(host, { id, name: subject.agent.name, workspace }, { create: true });
  const token: HostToken = work.secret ? { token: work.secret, problem: null } : await findHostToken(ctx, host, subject.agent);
  const written = await writeAgentFiles(ctx, host, subject, {
    auth_token: token.token ?? "",
    new_token: work.secret !== null,
    first: verb === "provisioned" || entry === "created",
    force_bootstrap: work.force_bootstrap,
    overwrite: false,
    below_minimum: isBelowMinimum(ctx, host, gateway),
    skip_tools: token.token === null,
  });
  if (written.error) throw new GatewayError(written.error, { retryable: false });
  const heartbeat = { ...DEFAULT_HEARTBEAT, ...subject.agent.heartbeat_config };
  const left_out = await configure(host, { id, settings: { workspace, heartbeat } });
  if (left_out.length > 0 || written.warnings.length > 0)
    ctx.log.info("agent.host_refused_parts", "The host does not take all of an agent as it is", {
      agent_id: agent.id,
      gateway_id: gateway.id,
      keys: left_out,
      warnings: written.warnings,
    });
  if (payload.reset) await resetSession(host, agent);
  const woken_at = payload.wake ? await wakeUp(ctx, host, agent, { verb, deliver: payload.deliver }, work.job_id) : null;
  return { problem: token.problem, woken_at };
}

/** A host that is away from the start is left to the job's next attempt; one that goes away later is waited for. */
async function openPresentHost(ctx: Context, gateway: GatewayRow): Promise<Host> {
  const target = toTarget(ctx, gateway);
  const deadline = performance.now() + ATTEMPT_MS;
  const policy: RetryPolicy = {
    ...SYNC_RETRY,
    /** What is left of the attempt. */
    get total_ms() {
      return Math.max(0, deadline - performance.now());
    },
  };
  await ctx.gateways.hello(target);
  return openHost(ctx, { id: gateway.id, target }, policy);
}

/** A host that takes no more changes for a while says when it does: later than this attempt ends, the next one waits for it. */
async function configure(host: Host, entry: WantedEntry): Promise<string[]> {
  try {
    return await configureEntries(host, [entry]);
  } catch (error) {
    if (!(error instanceof GatewayError) || (error.failure.retry_after_ms ?? null) === null) throw error;
    throw new GatewayError(error.message, { ...error.failure, retryable: true });
  }
}

async function resetSession(host: Host, { openclaw_session_id }: LiveAgent): Promise<void> {
  try {
    await host.call("sessions.reset", { key: openclaw_session_id });
  } catch (error) {
    if (!isMissingSession(error)) throw error;
  }
}

async function recordSuccess(ctx: Context<System>, before: LiveAgent, { verb, payload }: Work, done: Done): Promise<void> {
  const agent = await settle(ctx, before, done.problem);
  if (!agent) return;
  const { user_id, deliver } = payload;
  if (verb === "provisioned") {
    await tell(ctx, agent, "agent.provisioned", `Agent provisioned: ${agent.name}.`, user_id);
    await tell(ctx, agent, "agent.provision.direct", `Files of ${agent.name} written to its host.`, user_id);
  } else await tell(ctx, agent, "agent.update.direct", `Files of ${agent.name} updated on its host.`, user_id);
  if (done.woken_at) await recordWake(ctx, agent, done.woken_at, { verb, deliver, user_id });
}
