/** Clients of a storm: each posts, and posts again when nobody answers. */
import type { Hook } from "./customers.ts";
import { type Fleet, unlessDied } from "./fleet.ts";
import { pick, type Random } from "./random.ts";
import type { Reply } from "./service.ts";

/** One attempt to post. Begin and end are places in the order of everything that clients see. */
export interface Attempt {
  hook: Hook;
  begin: number;
  /** Null when nobody answered. */
  end: number | null;
  payload_id: string | null;
}

export interface Posting {
  readonly attempts: Attempt[];
  /** Settles when every post was answered. */
  readonly done: Promise<unknown>;
  /** Clients that are not done yet. */
  readonly left: number;
}

export function beginPosting(
  fleet: Fleet,
  hooks: readonly Hook[],
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

  async function send(hook: Hook): Promise<boolean> {
    const attempt: Attempt = { hook, begin: ticks++, end: null, payload_id: null };
    attempts.push(attempt);
    const body = JSON.stringify({ attempt: attempt.begin });
    const answer = await unlessDied(fleet.order({ do: "request", method: "POST", path: hook.path, headers: {}, body }));
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
