import type { Context } from "../context.ts";
import { enqueueAll, type NewJob } from "../job/job.ts";
import { hostLane } from "./host.ts";

/** An agent whose host is to be told of it. */
interface Subject {
  id: string;
  gateway_id: string;
  openclaw_session_id: string | null;
  lifecycle_generation: number;
}

interface Options {
  organization_id: string;
  /** Whose profile the files show: the acting user. */
  user_id: string | null;
  reset: boolean;
  wake?: boolean;
  deliver?: boolean;
}

/** Whose profile the files show when this caller causes them: an agent acts for nobody in particular. */
export const actingUser = ({ actor }: Context): string | null => (actor.type === "user" ? actor.user_id : null);

/**
 * Has a new agent made on its host with its first token, in the transaction that makes its row. `others` are jobs that are
 * stored by the same statement.
 */
export async function enqueueProvision(
  ctx: Context,
  agent: Subject,
  { auth_token, ...options }: Options & { auth_token: string },
  others: readonly NewJob[] = [],
): Promise<void> {
  const provision = toJobs(agent, options).map(
    (job): NewJob => ({ kind: "agent.provision", ...job, options: { ...job.options, secret: auth_token } }),
  );
  await enqueueAll(ctx, [...provision, ...others]);
}

/** Has the files of an agent rewritten on its host, in the transaction that changes what they say. The token stays. */
export async function enqueueUpdate(
  ctx: Context,
  agent: Subject,
  { force_bootstrap = false, ...options }: Options & { force_bootstrap?: boolean },
  others: readonly NewJob[] = [],
): Promise<void> {
  const update = toJobs(agent, options).map(
    (job): NewJob => ({ kind: "agent.update", ...job, payload: { ...job.payload, force_bootstrap } }),
  );
  await enqueueAll(ctx, [...update, ...others]);
}

/** None for an agent without a session, which has no place on a host. */
function toJobs(agent: Subject, { organization_id, user_id, reset, wake = true, deliver = false }: Options) {
  const { id: agent_id, gateway_id, openclaw_session_id, lifecycle_generation: generation } = agent;
  if (!openclaw_session_id) return [];
  const payload = { agent_id, generation, user_id, reset, wake, deliver };
  return [{ payload, options: { organization_id, gateway_id, lane: hostLane(gateway_id, openclaw_session_id) } }];
}
