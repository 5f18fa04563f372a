import type { Context } from "@board/core/context/context";
import type { JobHandler } from "@board/core/job/handler";
import { GatewayError } from "../wire/gateway-error.ts";
import { listEntries } from "../host/entries.ts";
import { toGatewayMessage } from "../wire/failure.ts";
import { type Host, openReachableHost } from "../host/open.ts";
import { trackConnectivity } from "../provisioning/connectivity.ts";
import { type GatewayRow, toTarget } from "@board/core/gateway/target";
import { readSubjects } from "../template/template-data.ts";
import { finalizeOnHost, listSyncedAgents, toUnfinishedFindings } from "./finalize.ts";
import { isBelowMinimum } from "../provisioning/write-files.ts";
import { createDeadline } from "../host/deadline.ts";
import { prepareSync } from "./prepare.ts";
import { addRunAgents, endRun, failRun, findOpenRun, appendFindings } from "./run.ts";
import {
  toFailedOutcome,
  findWaitingAgent,
  AGENT_GONE_ERROR,
  type AgentSyncOutcome,
  recordAgentResults,
  abortRun,
  toAgentResult,
} from "./agent-results.ts";
import { syncAgent } from "./agent.ts";

/** How long the first contact may take, and how long one attempt waits for a host that restarts, in milliseconds. */
const CONNECT_MS = 10_000;
const ATTEMPT_BUDGET_MS = 60_000;

/**
 * Prefix of the error when the host stayed unreachable. `onDead` recognizes the error by this prefix, because it gets only the
 * text of the error (see wire/retry.ts).
 */
const UNREACHABLE_PREFIX = "Gateway unreachable";

/** Selects the agents of a run and creates a job for each. If the host is unreachable, the run ends with that error. */
export const planSync: JobHandler<"sync.start"> = {
  async run(ctx, { run_id }) {
    const open = await findOpenRun(ctx, run_id);
    if (!open) return;
    const { run, gateway } = open;
    const prepared = await prepareSync(ctx, gateway, run.options, createDeadline(CONNECT_MS), ATTEMPT_BUDGET_MS);
    if (prepared.problem !== null) return (ctx) => failRun(ctx, run_id, prepared.problem);
    const { targets, errors } = prepared;
    return async (ctx) => {
      const added = await addRunAgents(ctx, { run_id, gateway, queued: true }, targets);
      await (added.length > 0 ? appendFindings : endRun)(ctx, run_id, { errors, warnings: [] });
    };
  },
  async onDead(ctx, { run_id }, reason) {
    await failRun(ctx, run_id, toGatewayMessage(reason));
  },
};

/** Syncs one agent of a run. */
export const syncOneAgent: JobHandler<"sync.agent"> = {
  async run(ctx, { run_id, run_agent_id, first }, { secret: token }) {
    const open = await findOpenRun(ctx, run_id);
    const row = open && (await findWaitingAgent(ctx, run_id, run_agent_id));
    if (!row) return;
    const { run, gateway } = open;
    const owner = { run_id, gateway_id: gateway.id, organization_id: gateway.organization_id };
    const [subject] = row.agent_id === null ? [] : await readSubjects(ctx, gateway, [row.agent_id], run.options.user_id);
    const outcome = subject
      ? await trackConnectivity(ctx, gateway, async () => {
          const host = await openSyncHost(ctx, gateway);
          const work = {
            query: run.options,
            token,
            first,
            present: await listEntries(host),
            below_minimum: isBelowMinimum(ctx, host, gateway),
          };
          return toFinalOutcome(() => syncAgent(ctx, host, subject, work));
        })
      : toFailedOutcome(AGENT_GONE_ERROR);
    return async (ctx) => void (await recordAgentResults(ctx, owner, [toAgentResult(run_agent_id, outcome, subject)]));
  },
  async onDead(ctx, { run_id, run_agent_id }, reason) {
    const open = await findOpenRun(ctx, run_id);
    if (!open) return;
    const { id: gateway_id, organization_id } = open.gateway;
    const result = toAgentResult(run_agent_id, toFailedOutcome(toGatewayMessage(reason)));
    await recordAgentResults(ctx, { run_id, gateway_id, organization_id }, [result]);
    if (reason.startsWith(UNREACHABLE_PREFIX)) await abortRun(ctx, run_id);
  },
};

/** Turns a permanent refusal by the host into the agent's outcome. A transient failure is thrown, so that the job retries. */
async function toFinalOutcome(work: () => Promise<AgentSyncOutcome>): Promise<AgentSyncOutcome> {
  try {
    return await work();
  } catch (error) {
    if (!(error instanceof GatewayError) || error.is_transient) throw error;
    return toFailedOutcome(toGatewayMessage(error));
  }
}

/** Runs the steps after the files are written, once for all agents, and ends the run. */
export const finalizeSync: JobHandler<"sync.finish"> = {
  async run(ctx, { run_id }) {
    const open = await findOpenRun(ctx, run_id);
    if (!open) return;
    const { run, gateway } = open;
    const synced = await listSyncedAgents(ctx, run);
    const work = async () => finalizeOnHost(await openSyncHost(ctx, gateway), gateway, run, synced);
    const findings = synced.length > 0 ? await trackConnectivity(ctx, gateway, work) : { errors: [], warnings: [] };
    return (ctx) => endRun(ctx, run_id, findings);
  },
  async onDead(ctx, { run_id }, reason) {
    const open = await findOpenRun(ctx, run_id);
    if (!open) return;
    const synced = await listSyncedAgents(ctx, open.run);
    await endRun(ctx, run_id, toUnfinishedFindings(toGatewayMessage(reason), open.run, synced));
  },
};

/**
 * Opens the host. If it is unreachable at the start, the call fails at once, so that the job retries. Later calls wait while the
 * host restarts.
 */
async function openSyncHost(ctx: Context, gateway: GatewayRow): Promise<Host> {
  const { policy } = createDeadline(ATTEMPT_BUDGET_MS);
  try {
    return await openReachableHost(ctx, { id: gateway.id, target: toTarget(ctx, gateway) }, policy);
  } catch (error) {
    if (!(error instanceof GatewayError) || error.message.startsWith(UNREACHABLE_PREFIX)) throw error;
    throw new GatewayError(`${UNREACHABLE_PREFIX} during connect. Last error: ${error.message}`, error.failure);
  }
}
