/** Clients that create tasks and change their status. A request without an answer is made again. */
import { type Fleet, nullIfDied } from "../crashes/fleet.ts";
import { pick, type Random } from "../crashes/random.ts";
import type { Reply } from "../crashes/service.ts";
import { OWNER } from "../crashes/environment.ts";

export interface Changing {
  /** Resolves when every change was answered. */
  readonly done: Promise<unknown>;
  /** The number of clients that still make changes. */
  readonly left: number;
  /** Requests without an answer. */
  readonly unanswered: number;
}

/** A board and its share of the changes. */
export interface Place {
  board_id: string;
  share: number;
}

export function startChanging(
  fleet: Fleet,
  places: readonly Place[],
  { changes, clients, random }: { changes: number; clients: number; random: Random },
): Changing {
  /** Tasks that were created and not changed yet. */
  const untouched: string[] = [];
  let begun = 0;
  let left = clients;
  let unanswered = 0;

  async function client(): Promise<void> {
    while (begun < changes) {
      begun += 1;
      const path = random() < 0.5 ? untouched.pop() : undefined;
      if (path === undefined) await create();
      else while ((await send("PATCH", path, { status: "in_progress" })) === null) unanswered += 1;
    }
    left -= 1;
  }

  async function create(): Promise<void> {
    const path = `/api/v1/boards/${choosePlace().board_id}/tasks`;
    for (;;) {
      const task = await send("POST", path, { title: "Changed" });
      if (task) return void untouched.push(`${path}/${task.id}`);
      unanswered += 1;
    }
  }

  function choosePlace(): Place {
    let drawn = random();
    return places.find(({ share }) => (drawn -= share) < 0) ?? pick(random, places);
  }

  /** Null when the request must be made again. */
  async function send(method: string, path: string, body: object): Promise<{ id: string } | null> {
    const headers = { authorization: `Bearer ${OWNER}`, "content-type": "application/json" };
    const answer = await nullIfDied(fleet.order({ do: "request", method, path, headers, body: JSON.stringify(body) }));
    if (answer === null) return null;
    const { status, text } = answer as Reply;
    // A busy process refuses a request for now.
    if (status === 503) return null;
    if (status !== 200) throw new Error(`${method} ${path} was answered with ${status}: ${text}`);
    return JSON.parse(text) as { id: string };
  }

  const done = Promise.all(Array.from({ length: clients }, client));
  return {
    done,
    get left() {
      return left;
    },
    get unanswered() {
      return unanswered;
    },
  };
}
