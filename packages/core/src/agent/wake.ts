import { and, gt, isNull, lt, ne, or, sql } from "drizzle-orm";
import { type Context, transaction } from "../context.ts";
import type { JobHandler } from "../deliver.ts";
import { GatewayError } from "../gateway/client.ts";
import { toGatewayMessage } from "../gateway/failure.ts";
import type { Host } from "../gateway/host.ts";
import { findUsableGateway, sendVia } from "../gateway/send.ts";
import { type SessionMessage, sendMessage } from "../gateway/session.ts";
import { enqueue } from "../job/job.ts";
import type { WakeCheckPayload } from "../job/kinds.ts";
import { oneLine } from "../wire.ts";
import { agents } from "./agent.sql.ts";
import { change, goOffline, type LiveAgent, lockAgent, ofGeneration, tell } from "./state.ts";
import { Superseded } from "./token-change.ts";

/** How long an agent that was woken may take to check in. */
const ANSWER_SECONDS = 30;
/** One that did not answer so many times is taken to be offline. */
const MAX_WAKES = 3;

type Words = Pick<WakeCheckPayload, "verb" | "deliver">;

/** What an agent is told once its files are there (contract gateways.md §10.3). */
const wakeText = (name: string, verb: Words["verb"]): string =>
  `Hello ${oneLine(name)}, your workspace was ${verb}.

Read BOOTSTRAP.md first if it is there, then AGENTS.md if it is there, then TOOLS.md, SOUL.md and, if it is there, HEARTBEAT.md.
Some hosts keep files inside AGENTS.md, each under a line with its name.
Then begin your heartbeats.`;

/**
 * Wakes an agent on a host that is being worked on. Its answer is waited for from before the text is sent, since it may
 * come faster than anything is written after it. Returns when it was woken. Rejects with a GatewayError, or Superseded.
 */
export async function wakeUp(ctx: Context, host: Host, agent: LiveAgent, words: Words, job_id: string): Promise<Date> {
  const sent_at = ctx.now();
  if (!(await awaitAnswer(ctx, agent, 1, sent_at))) throw new Superseded();
  const message = toMessage(agent, words, job_id);
  await host.repeat("waking the agent", () => sendMessage(ctx.gateways, host.target, message));
  return sent_at;
}

/** Records that an agent was woken, and has its answer looked for, in the transaction that ends the job. `agent` is locked. */
export async function recordWake(
  ctx: Context,
  agent: LiveAgent,
  sent_at: Date,
  { user_id, ...words }: Words & { user_id: string | null },
): Promise<void> {
  await tell(ctx, agent, "agent.wakeup.sent", `Wake-up sent to ${agent.name}.`, user_id);
  const isOpen = agent.wake_attempts > 0 && agent.last_wake_sent_at?.getTime() === sent_at.getTime();
  if (isOpen) await enqueueCheck(ctx, agent, sent_at, words);
}

/** Wakes an agent that has not answered, until it is given up (contract agents.md §6.3). A host that is away counts as no answer. */
export const checkWake: JobHandler<"agent.wake_check"> = {
  async run(ctx, payload, { id: job_id }) {
    const agent = await transaction(ctx, (ctx) => lockAgent(ctx, isWaiting(payload)));
    if (!agent?.checkin_deadline_at) return;
    if (agent.checkin_deadline_at > ctx.now())
      return ifStillWaiting(payload, agent, (ctx, { last_wake_sent_at }) =>
        enqueueCheck(ctx, agent, last_wake_sent_at!, payload),
      );
    if (agent.wake_attempts >= MAX_WAKES) return ifStillWaiting(payload, agent, giveUp);
    const sent_at = ctx.now();
    const failure = await wakeAgain(ctx, toMessage(agent, payload, job_id), agent.gateway_id);
    return ifStillWaiting(payload, agent, async (ctx, agent) => {
      await awaitAnswer(ctx, agent, agent.wake_attempts + 1, sent_at);
      if (failure === null) await tell(ctx, agent, "agent.wakeup.sent", `Wake-up sent to ${agent.name} again.`);
      else await change(ctx, agent, { last_provision_error: failure });
      await enqueueCheck(ctx, agent, sent_at, payload);
    });
  },
};

/** An agent of this life that was woken and has not been seen since. */
const isWaiting = ({ agent_id, generation }: WakeCheckPayload) =>
  and(
    ofGeneration(agent_id, generation),
    ne(agents.status, "deleting"),
    gt(agents.wake_attempts, 0),
    or(isNull(agents.last_seen_at), lt(agents.last_seen_at, agents.last_wake_sent_at)),
  );

/** What the job's end writes: nothing when the agent has answered, or was woken anew, by then. */
const ifStillWaiting =
  (payload: WakeCheckPayload, before: LiveAgent, write: (ctx: Context, agent: LiveAgent) => Promise<void>) =>
  async (ctx: Context): Promise<void> => {
    const agent = await lockAgent(ctx, isWaiting(payload));
    if (agent && agent.wake_attempts === before.wake_attempts) await write(ctx, agent);
  };

async function giveUp(ctx: Context, agent: LiveAgent): Promise<void> {
  const error = `The agent did not check in after ${MAX_WAKES} wake-ups.`;
  await goOffline(ctx, agent, error);
  await tell(ctx, agent, "agent.error", `${agent.name}: ${error}`);
}

/** Null when the text was sent, else why it was not. */
async function wakeAgain(ctx: Context, message: SessionMessage, gateway_id: string): Promise<string | null> {
  const gateway = await findUsableGateway(ctx, gateway_id);
  if (!gateway) return null;
  try {
    await sendVia(ctx, gateway, message);
    return null;
  } catch (error) {
    if (!(error instanceof GatewayError)) throw error;
    return toGatewayMessage(error);
  }
}

/** The key is the job's, so that a repeat of it wakes nobody twice. */
const toMessage = ({ openclaw_session_id, name }: LiveAgent, { verb, deliver }: Words, job_id: string): SessionMessage => ({
  session_key: openclaw_session_id ?? "",
  label: name,
  message: wakeText(name, verb),
  deliver,
  idempotency_key: `wake-${job_id}`,
});

const deadlineOf = (sent_at: Date) => new Date(sent_at.getTime() + ANSWER_SECONDS * 1000);

/** Nothing of this is shown to anybody: the agent's row does not count as changed. False when it leads another life by now. */
async function awaitAnswer(ctx: Context, agent: LiveAgent, wake_attempts: number, sent_at: Date): Promise<boolean> {
  const waiting = { wake_attempts, last_wake_sent_at: sent_at, checkin_deadline_at: deadlineOf(sent_at) };
  const written = await ctx.db
    .update(agents)
    .set({ ...waiting, updated_at: sql`${agents.updated_at}` })
    .where(ofGeneration(agent.id, agent.lifecycle_generation))
    .returning({ id: agents.id });
  return written.length > 0;
}

/** One look at a time in a life of an agent, 30 s after it was woken. */
async function enqueueCheck(ctx: Context, agent: LiveAgent, sent_at: Date, { verb, deliver }: Words): Promise<void> {
  const { id, lifecycle_generation: generation, organization_id, gateway_id } = agent;
  const payload = { agent_id: id, generation, verb, deliver };
  const dedupe_key = `wake/${id}/${generation}`;
  await enqueue(ctx, "agent.wake_check", payload, { organization_id, gateway_id, dedupe_key, run_at: deadlineOf(sent_at) });
}
