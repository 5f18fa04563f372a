import type { Context } from "../context.ts";
import type { JobHandler } from "../deliver.ts";
import { GatewayError } from "../gateway/client.ts";
import { listEntries } from "../gateway/entries.ts";
import { isTransient, toGatewayMessage } from "../gateway/failure.ts";
import { type Host, openHost } from "../gateway/host.ts";
import { trackingReach } from "../gateway/reach.ts";
import { type GatewayRow, toTarget } from "../gateway/target.ts";
import { readSubjects } from "./context.ts";
import { finishSync, readSynced, unfinished } from "./finish.ts";
import { isBelowMinimum } from "./host-files.ts";
import { createPatience } from "./patience.ts";
import { prepareSync } from "./prepare.ts";
import { addAgents, endRun, failRun, findOpenRun, noteFindings } from "./run.ts";
import { failure, findWaitingAgent, GONE, type Outcome, settleAgents, stopRun, toSettlement } from "./settle.ts";
import { syncAgent } from "./sync-agent.ts";

/** How long the host is waited for at first, and how long an attempt puts up with one that restarts; milliseconds. */
const FIRST_CONTACT_MS = 10_000;
const ATTEMPT_MS = 60_000;

const AWAY = "Gateway unreachable";

/** Finds out what a run has to do, and makes a job for each agent. A host that is away is what the run then tells. */
export const beginSync: JobHandler<"sync.start"> = {
  async run(ctx, { run_id }) {
    const found = await findOpenRun(ctx, run_id);
    if (!found) return;
    const { run, gateway } = found;
    const prepared = await prepareSync(ctx, gateway, run.options, createPatience(FIRST_CONTACT_MS));
    if (prepared.problem !== null) return (ctx) => failRun(ctx, run_id, prepared.problem);
    const { targets, errors } = prepared;
    return async (ctx) => {
      const added = await addAgents(ctx, { run_id, gateway, queued: true }, targets);
      await (added.length > 0 ? noteFindings : endRun)(ctx, run_id, { errors, warnings: [] });
    };
  },
  async failed(ctx, { run_id }, reason) {
    await failRun(ctx, run_id, toGatewayMessage(reason));
  },
};

/** Syncs one agent of a run. */
export const syncOneAgent: JobHandler<"sync.agent"> = {
  async run(ctx, { run_id, run_agent_id, first }, { secret: token }) {
    const found = await findOpenRun(ctx, run_id);
    const row = found && (await findWaitingAgent(ctx, run_id, run_agent_id));
    if (!row) return;
    const { run, gateway } = found;
    const whose = { run_id, gateway_id: gateway.id, organization_id: gateway.organization_id };
    const [subject] = row.agent_id === null ? [] : await readSubjects(ctx, gateway, [row.agent_id], run.options.user_id);
    const outcome = subject
      ? await trackingReach(ctx, gateway, async () => {
          const host = await openPresentHost(ctx, gateway);
          const work = {
            query: run.options,
            token,
            first,
            present: await listEntries(host),
            below_minimum: isBelowMinimum(ctx, host, gateway),
          };
          return finalOutcome(() => syncAgent(ctx, host, subject, work));
        })
      : failure(GONE);
    return async (ctx) => void (await settleAgents(ctx, whose, [toSettlement(run_agent_id, outcome, subject)]));
  },
  async failed(ctx, { run_id, run_agent_id }, reason) {
    const found = await findOpenRun(ctx, run_id);
    if (!found) return;
    const { id: gateway_id, organization_id } = found.gateway;
    const settlement = toSettlement(run_agent_id, failure(toGatewayMessage(reason)));
    await settleAgents(ctx, { run_id, gateway_id, organization_id }, [settlement]);
    if (reason.startsWith(AWAY)) await stopRun(ctx, run_id);
  },
};

/** What the host refuses for good is how it ends for this agent; for the rest there is another attempt. */
async function finalOutcome(work: () => Promise<Outcome>): Promise<Outcome> {
  try {
    return await work();
  } catch (error) {
    if (!(error instanceof GatewayError) || isTransient(error)) throw error;
    return failure(toGatewayMessage(error));
  }
}

/** Does once for all agents what comes after their files. */
export const finishRun: JobHandler<"sync.finish"> = {
  async run(ctx, { run_id }) {
    const found = await findOpenRun(ctx, run_id);
    if (!found) return;
    const { run, gateway } = found;
    const synced = await readSynced(ctx, run);
    const work = async () => finishSync(await openPresentHost(ctx, gateway), gateway, run, synced);
    const findings = synced.length > 0 ? await trackingReach(ctx, gateway, work) : { errors: [], warnings: [] };
    return (ctx) => endRun(ctx, run_id, findings);
  },
  async failed(ctx, { run_id }, reason) {
    const found = await findOpenRun(ctx, run_id);
    if (!found) return;
    const synced = await readSynced(ctx, found.run);
    await endRun(ctx, run_id, unfinished(toGatewayMessage(reason), found.run, synced));
  },
};

/** A host that is away from the start is left to the job's next attempt; one that goes away later is waited for. */
async function openPresentHost(ctx: Context, gateway: GatewayRow): Promise<Host> {
  const target = toTarget(ctx, gateway);
  try {
    await ctx.gateways.hello(target);
  } catch (error) {
    if (!(error instanceof GatewayError)) throw error;
    throw new GatewayError(`${AWAY} during connect. Last error: ${error.message}`, error.failure);
  }
  return openHost(ctx, { id: gateway.id, target }, createPatience(ATTEMPT_MS).policy);
}
