import { and, eq, isNotNull, isNull, lt, ne, or } from "drizzle-orm";
import { isOutOfBudget } from "@board/core/budget/out-of-budget";
import type { System } from "@board/core/context/actor";
import { type Context, transaction } from "@board/core/context/context";
import type { JobHandler } from "@board/core/job/handler";
import { GatewayError } from "../wire/gateway-error.ts";
import { toGatewayMessage } from "../wire/failure.ts";
import type { Host } from "../host/open.ts";
import { sendToSession } from "./send.ts";
import { findUsableGateway } from "@board/core/gateway/target";
import { sendMessage } from "../host/session.ts";
import type { SessionMessage } from "@board/core/context/session-message";
import { findOpenCircuit } from "@board/core/job/circuit";
import { enqueue } from "@board/core/job/job";
import type { WakeCheckPayload } from "@board/core/job/kinds";
import { oneLine } from "@board/core/values/wire";
import { agents } from "@board/core/schema/agent.sql";
import {
  type AgentWithOrganization,
  isGeneration,
  lockAgent,
  recordAgentEvent,
  setOffline,
  startWakeCycle,
  updateAgentFields,
} from "@board/core/agent/lifecycle";
import { Superseded } from "@board/core/agent/token-rotation";

/** Time in which an agent must check in after a wake-up. */
export const CHECK_IN_SECONDS = 30;
/** After this many wake-ups without a check-in the agent is marked offline. */
export const MAX_WAKE_UPS = 3;

type WakeOptions = Pick<WakeCheckPayload, "verb" | "deliver">;

/** Creates the message to an agent whose files were written (docs/reference/gateways.md#wake-text). */
const wakeText = (name: string, verb: WakeOptions["verb"]): string =>
  `Hello ${oneLine(name)}, your workspace was ${verb}.

Read BOOTSTRAP.md first if it is there, then AGENTS.md if it is there, then TOOLS.md, SOUL.md and, if it is there, HEARTBEAT.md.
Some hosts keep files inside AGENTS.md, each under a line with its name.
Then begin your heartbeats.`;

/**
 * Wakes an agent on an open host and returns the time, or null if its budget is spent. The wake cycle is stored before the text
 * is sent, because the agent may check in before any later write. Rejects with a GatewayError or Superseded.
 */
export async function sendWakeUp(
  ctx: Context,
  host: Host,
  agent: AgentWithOrganization,
  options: WakeOptions,
  job_id: string,
): Promise<Date | null> {
  if (await isOutOfBudget(ctx, agent)) return null;
  const sent_at = ctx.now();
  if (!(await startWakeCycle(ctx, agent, wakeAt(sent_at, 1)))) throw new Superseded();
  const message = toWakeMessage(agent, options, job_id);
  await host.retry("waking the agent", () => sendMessage(ctx.gateways, host.target, message));
  return sent_at;
}

/** Records the wake-up and enqueues its check, in the transaction that ends the job. The caller has locked the agent. */
export async function recordWakeSent(
  ctx: Context,
  agent: AgentWithOrganization,
  sent_at: Date,
  { user_id, ...options }: WakeOptions & { user_id: string | null },
): Promise<void> {
  await recordAgentEvent(ctx, agent, "agent.wakeup.sent", `Wake-up sent to ${agent.name}.`, user_id);
  const isOpen = agent.wake_attempts > 0 && agent.last_wake_sent_at?.getTime() === sent_at.getTime();
  if (isOpen) await enqueueWakeCheck(ctx, agent, checkInDeadline(sent_at), options);
}

/**
 * Holds the first wake-up back because a budget is spent, in the transaction that ends the job. Wake checks send it once the budget
 * has room. The caller has locked the agent.
 */
export async function holdWakeUp(ctx: Context, agent: AgentWithOrganization, options: WakeOptions): Promise<void> {
  const checkin_deadline_at = checkInDeadline(ctx.now());
  await startWakeCycle(ctx, agent, { wake_attempts: 0, checkin_deadline_at });
  await enqueueWakeCheck(ctx, agent, checkin_deadline_at, options);
}

/**
 * Sends a wake-up that was held back, sends it again if the agent has not checked in, and finally marks the agent offline
 * (docs/reference/agents.md#wake-cycle). An attempt on an unreachable host counts as a wake-up without a check-in.
 */
export const checkWakeUp: JobHandler<"agent.wake_check"> = {
  async run(ctx, payload, { id: job_id }) {
    const agent = await transaction(ctx, (ctx) => lockAgent(ctx, isAwaitingCheckIn(payload)));
    const deadline = agent?.checkin_deadline_at;
    if (!agent || !deadline) return;
    if (deadline > ctx.now()) return ifStillAwaiting(payload, agent, (ctx) => enqueueWakeCheck(ctx, agent, deadline, payload));
    // The budget is spent, and a wake-up would spend more. The check is repeated, so that the agent is woken after the budget's
    // reset.
    if (await isOutOfBudget(ctx, agent))
      return ifStillAwaiting(payload, agent, (ctx) => enqueueWakeCheck(ctx, agent, checkInDeadline(ctx.now()), payload));
    if (agent.wake_attempts >= MAX_WAKE_UPS) return ifStillAwaiting(payload, agent, giveUpWaking);
    const sent_at = ctx.now();
    const failure = await resendWakeUp(ctx, toWakeMessage(agent, payload, job_id), agent.gateway_id);
    return ifStillAwaiting(payload, agent, async (ctx, agent) => {
      await startWakeCycle(ctx, agent, wakeAt(sent_at, agent.wake_attempts + 1));
      const again = agent.wake_attempts > 0 ? " again" : "";
      if (failure === null) await recordAgentEvent(ctx, agent, "agent.wakeup.sent", `Wake-up sent to ${agent.name}${again}.`);
      else await updateAgentFields(ctx, agent, { last_provision_error: failure });
      await enqueueWakeCheck(ctx, agent, checkInDeadline(sent_at), payload);
    });
  },
};

/** Matches the agent while it has the same generation and was not seen since it was woken, or since its wake-up was held back. */
const isAwaitingCheckIn = ({ agent_id, generation }: WakeCheckPayload) =>
  and(
    isGeneration(agent_id, generation),
    ne(agents.status, "deleting"),
    isNotNull(agents.checkin_deadline_at),
    or(eq(agents.wake_attempts, 0), isNull(agents.last_seen_at), lt(agents.last_seen_at, agents.last_wake_sent_at)),
  );

/** Returns the final write of the job. It is skipped when the agent has checked in or was woken again while the job ran. */
const ifStillAwaiting =
  (
    payload: WakeCheckPayload,
    before: AgentWithOrganization,
    write: (ctx: Context, agent: AgentWithOrganization) => Promise<void>,
  ) =>
  async (ctx: Context): Promise<void> => {
    const agent = await lockAgent(ctx, isAwaitingCheckIn(payload));
    if (agent && agent.wake_attempts === before.wake_attempts) await write(ctx, agent);
  };

async function giveUpWaking(ctx: Context, agent: AgentWithOrganization): Promise<void> {
  const error = `The agent did not check in after ${MAX_WAKE_UPS} wake-ups.`;
  await setOffline(ctx, agent, error);
  await recordAgentEvent(ctx, agent, "agent.error", `${agent.name}: ${error}`);
}

/** Returns why the text could not be sent, or null. */
async function resendWakeUp(ctx: Context<System>, message: SessionMessage, gateway_id: string): Promise<string | null> {
  const gateway = await findUsableGateway(ctx, gateway_id);
  if (!gateway) return null;
  const circuit = gateway.connected ? null : await findOpenCircuit(ctx, gateway_id);
  if (circuit) return circuit.last_error;
  try {
    await sendToSession(ctx, gateway, message);
    return null;
  } catch (error) {
    if (!(error instanceof GatewayError)) throw error;
    return toGatewayMessage(error);
  }
}

/** Creates the message with the job's id as idempotency key, so that a retry does not wake the agent twice. */
const toWakeMessage = (
  { openclaw_session_id, name }: AgentWithOrganization,
  { verb, deliver }: WakeOptions,
  job_id: string,
): SessionMessage => ({
  session_key: openclaw_session_id ?? "",
  label: name,
  message: wakeText(name, verb),
  deliver,
  idempotency_key: `wake-${job_id}`,
});

const wakeAt = (sent_at: Date, wake_attempts: number) => ({
  wake_attempts,
  last_wake_sent_at: sent_at,
  checkin_deadline_at: checkInDeadline(sent_at),
});

const checkInDeadline = (sent_at: Date) => new Date(sent_at.getTime() + CHECK_IN_SECONDS * 1000);

/** Enqueues a check. Each generation of an agent has at most one check at a time. */
async function enqueueWakeCheck(
  ctx: Context,
  agent: AgentWithOrganization,
  run_at: Date,
  { verb, deliver }: WakeOptions,
): Promise<void> {
  const { id, lifecycle_generation: generation, organization_id, gateway_id } = agent;
  const payload = { agent_id: id, generation, verb, deliver };
  const dedupe_key = `wake/${id}/${generation}`;
  await enqueue(ctx, "agent.wake_check", payload, { organization_id, gateway_id, dedupe_key, run_at });
}
