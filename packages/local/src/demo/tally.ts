import type { Task } from "@board/client/api";

/** Counts what happens, so that the end can say whether every accepted post reached its agent and every task its end. */
export interface Tally {
  accepted(payload_id: string, subject: string): void;
  refused(): void;
  /** The gateway has the message; returns what it is about and the milliseconds since the post. */
  delivered(payload_id: string): { subject: string; waited_ms: number };
  /** An agent has dealt with the payload. */
  handled(payload_id: string): void;
  noted(): void;
  /** A task as it is now, and what it was made for when it is new. */
  seen(task: Task, payload_id?: string): void;
  /** Something is about to happen to a task of which somebody will be told. */
  stirs(task_id: string): void;
  /** The gateway has a message about tasks; returns the milliseconds since its cause. */
  told(task_ids: string[]): number;
  commented(): void;
  asked(): void;
  decided(): void;
  /** What the log calls a task, such as `#1`. */
  numberOf(task_id: string): string;
  /** How the tasks stand that were made for a payload, in the order of making. */
  tasksFor(payload_id: string): Task["status"][];
  /** Whether agents have dealt with every accepted post, and every task is done. */
  isSettled(): boolean;
  /** Lines for the end; none when nothing was posted. */
  summary(): string[];
}

export function createTally(): Tally {
  const posted = new Map<string, { subject: string; at: number }>();
  const deliveries = new Map<string, number>();
  const handled = new Set<string>();
  const numbers = new Map<string, string>();
  const tasks = new Map<string, { status: Task["status"]; payload_id: string | undefined }>();
  const stirred = new Map<string, number>();
  const counts = { refused: 0, notes: 0, comments: 0, told: 0, asked: 0, decided: 0 };
  let longest_ms = 0;
  const waitedSince = (at: number) => {
    const waited_ms = performance.now() - at;
    longest_ms = Math.max(longest_ms, waited_ms);
    return waited_ms;
  };
  const unfinished = () => [...tasks.values()].filter(({ status }) => status !== "done").length;
  return {
    accepted: (id, subject) => void posted.set(id, { subject, at: performance.now() }),
    refused: () => void counts.refused++,
    delivered(id) {
      deliveries.set(id, (deliveries.get(id) ?? 0) + 1);
      const { subject, at } = posted.get(id) ?? { subject: "a post", at: performance.now() };
      return { subject, waited_ms: waitedSince(at) };
    },
    handled: (id) => void handled.add(id),
    noted: () => void counts.notes++,
    seen: ({ id, status }, payload_id) => void tasks.set(id, { status, payload_id: payload_id ?? tasks.get(id)?.payload_id }),
    stirs: (id) => void stirred.set(id, performance.now()),
    told(ids) {
      counts.told++;
      return waitedSince(Math.max(...ids.map((id) => stirred.get(id) ?? performance.now())));
    },
    commented: () => void counts.comments++,
    asked: () => void counts.asked++,
    decided: () => void counts.decided++,
    numberOf(id) {
      const number = numbers.get(id) ?? `#${numbers.size + 1}`;
      numbers.set(id, number);
      return number;
    },
    tasksFor: (payload_id) => [...tasks.values()].filter((task) => task.payload_id === payload_id).map(({ status }) => status),
    isSettled: () => [...posted.keys()].every((id) => handled.has(id)) && unfinished() === 0,
    summary() {
      if (posted.size === 0) return [];
      const waiting = posted.size - [...posted.keys()].filter((id) => deliveries.has(id)).length;
      const doubles = [...deliveries.values()].filter((times) => times > 1).length;
      const lost = waiting === 0 ? "none lost" : `${waiting} still on the way`;
      const open = unfinished() === 0 ? "all done" : `${tasks.size - unfinished()} done, ${unfinished()} under way`;
      return [
        line("accepted", posted.size, "posts answered with 202 once stored"),
        line("refused", counts.refused, "wrong signature, nothing stored"),
        line("delivered", deliveries.size, `${lost}, ${doubles === 0 ? "none twice" : `${doubles} twice`}`),
        line("tasks", tasks.size, open),
        line("approvals", counts.asked, `asked for, ${counts.decided} decided by you`),
        line("messages", counts.told, `to agents about tasks, and ${counts.comments} comments on them`),
        line("notes", counts.notes, "in the board's memory"),
        line("longest wait", seconds(longest_ms), "from post or cause to agent, outages included"),
      ];
    },
  };
}

const line = (what: string, count: number | string, more: string) => `${what.padEnd(12)}  ${String(count).padEnd(6)} ${more}`;

const seconds = (ms: number) => (ms < 1000 ? `${Math.round(ms)} ms` : `${(ms / 1000).toFixed(1)} s`);
