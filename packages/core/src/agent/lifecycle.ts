import type { Context } from "../context.ts";
import { enqueue } from "../job/job.ts";
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

/** Has a new agent made on its host with its first token, in the transaction that makes its row. */
export async function enqueueProvision(ctx: Context, agent: Subject, options: Options & { auth_token: string }): Promise<void> {
  const job = toJob(agent, options);
  if (job) await enqueue(ctx, "agent.provision", job.payload, { ...job.options, secret: options.auth_token });
}

/** Has the files of an agent rewritten on its host, in the transaction that changes what they say. The token stays. */
export async function enqueueUpdate(
  ctx: Context,
  agent: Subject,
  options: Options & { force_bootstrap?: boolean },
): Promise<void> {
  const job = toJob(agent, options);
  const { force_bootstrap = false } = options;
  if (job) await enqueue(ctx, "agent.update", { ...job.payload, force_bootstrap }, job.options);
}

/** An agent without a session has no place on a host. */
function toJob(agent: Subject, { organization_id, user_id, reset, wake = true, deliver = false }: Options) {
  const { id: agent_id, gateway_id, openclaw_session_id, lifecycle_generation: generation } = agent;
  if (!openclaw_session_id) return null;
  return {
    payload: { agent_id, generation, user_id, reset, wake, deliver },
    options: { organization_id, gateway_id, lane: hostLane(gateway_id, openclaw_session_id) },
  };
}
