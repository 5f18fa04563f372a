/** Clients of a chaos run: each posts, and repeats a post without an answer. */
import type { WebhookTarget } from "./chaos-tenants.ts";
import { type Fleet, nullIfDied } from "./fleet.ts";
import { pick, type Random } from "./random.ts";
import type { Reply } from "./service.ts";

/** An attempt to post. Begin and end are positions in the order of all events that clients observe. */
export interface Attempt {
  hook: WebhookTarget;
  begin: number;
  /** Null without an answer. */
  end: number | null;
  payload_id: string | null;
}

export interface Posting {
  readonly attempts: Attempt[];
  /** Resolves when every post was answered. */
  readonly done: Promise<unknown>;
  /** The number of clients that still post. */
  readonly left: number;
}

export function startPosting(
  fleet: Fleet,
  hooks: readonly WebhookTarget[],
  { posts, clients, random }: { posts: number; clients: number; random: Random },
): Posting {
  const attempts: Attempt[] = [];
  let begun = 0;
  let left = clients;
  let ticks = 0;

  async function client(): Promise<void> {
    while (begun < posts) {
      begun += 1;
      const hook = pick(random, hooks);
      while (!(await send(hook)));
    }
    left -= 1;
  }

  async function send(hook: WebhookTarget): Promise<boolean> {
    const attempt: Attempt = { hook, begin: ticks++, end: null, payload_id: null };
    attempts.push(attempt);
    const body = JSON.stringify({ attempt: attempt.begin });
    const answer = await nullIfDied(fleet.order({ do: "request", method: "POST", path: hook.path, headers: {}, body }));
    if (answer === null) return false;
    const { status, text } = answer as Reply;
    if (status !== 202) throw new Error(`A post was answered with ${status}: ${text}`);
    attempt.end = ticks++;
    attempt.payload_id = (JSON.parse(text) as { payload_id: string }).payload_id;
    return true;
  }

  const done = Promise.all(Array.from({ length: clients }, client));
  return {
    attempts,
    done,
    get left() {
      return left;
    },
  };
}
