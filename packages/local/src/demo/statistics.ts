import type { Task } from "@board/client/api";

/** Counts events, so that the summary can show whether every accepted post was delivered and every task completed. */
export interface DemoStatistics {
  recordAcceptedPost(payload_id: string, subject: string): void;
  recordRejectedPost(): void;
  /** Records that the gateway has received the message. Returns the subject of the post and the milliseconds since the post. */
  recordDelivery(payload_id: string): { subject: string; waited_ms: number };
  /** Records that an agent has handled the payload. */
  recordHandledPayload(payload_id: string): void;
  recordNote(): void;
  /** Records the state of a task, and for a new task the payload that caused it. */
  recordTask(task: Task, payload_id?: string): void;
  /** Records the time right before a change to a task. */
  recordCause(task_id: string): void;
  /** Records that the gateway has received a message about tasks. Returns the milliseconds since the change. */
  recordTaskMessage(task_ids: string[]): number;
  recordComment(): void;
  recordApprovalRequest(): void;
  recordDecision(): void;
  /** Returns the short name of a task in the log, such as `#1`. */
  taskLabel(task_id: string): string;
  /** Returns the statuses of the tasks that were created for a payload, in order of creation. */
  taskStatuses(payload_id: string): Task["status"][];
  /** Whether every accepted post is handled and every task is done. */
  isComplete(): boolean;
  /** Returns the lines of the summary, or none if nothing was posted. */
  summary(): string[];
}

export function createDemoStatistics(): DemoStatistics {
  const posted = new Map<string, { subject: string; at: number }>();
  const deliveries = new Map<string, number>();
  const handled = new Set<string>();
  const numbers = new Map<string, string>();
  const tasks = new Map<string, { status: Task["status"]; payload_id: string | undefined }>();
  const causeTimes = new Map<string, number>();
  const counts = { rejected: 0, notes: 0, comments: 0, messages: 0, requests: 0, decisions: 0 };
  let longest_ms = 0;
  const waitedSince = (at: number) => {
    const waited_ms = performance.now() - at;
    longest_ms = Math.max(longest_ms, waited_ms);
    return waited_ms;
  };
  const unfinished = () => [...tasks.values()].filter(({ status }) => status !== "done").length;
  return {
    recordAcceptedPost: (id, subject) => void posted.set(id, { subject, at: performance.now() }),
    recordRejectedPost: () => void counts.rejected++,
    recordDelivery(id) {
      deliveries.set(id, (deliveries.get(id) ?? 0) + 1);
      const { subject, at } = posted.get(id) ?? { subject: "a post", at: performance.now() };
      return { subject, waited_ms: waitedSince(at) };
    },
    recordHandledPayload: (id) => void handled.add(id),
    recordNote: () => void counts.notes++,
    recordTask: ({ id, status }, payload_id) =>
      void tasks.set(id, { status, payload_id: payload_id ?? tasks.get(id)?.payload_id }),
    recordCause: (id) => void causeTimes.set(id, performance.now()),
    recordTaskMessage(ids) {
      counts.messages++;
      return waitedSince(Math.max(...ids.map((id) => causeTimes.get(id) ?? performance.now())));
    },
    recordComment: () => void counts.comments++,
    recordApprovalRequest: () => void counts.requests++,
    recordDecision: () => void counts.decisions++,
    taskLabel(id) {
      const number = numbers.get(id) ?? `#${numbers.size + 1}`;
      numbers.set(id, number);
      return number;
    },
    taskStatuses: (payload_id) =>
      [...tasks.values()].filter((task) => task.payload_id === payload_id).map(({ status }) => status),
    isComplete: () => [...posted.keys()].every((id) => handled.has(id)) && unfinished() === 0,
    summary() {
      if (posted.size === 0) return [];
      const waiting = posted.size - [...posted.keys()].filter((id) => deliveries.has(id)).length;
      const doubles = [...deliveries.values()].filter((times) => times > 1).length;
      const lost = waiting === 0 ? "none lost" : `${waiting} not delivered yet`;
      const open = unfinished() === 0 ? "all done" : `${tasks.size - unfinished()} done, ${unfinished()} in progress`;
      return [
        line("accepted", posted.size, "posts answered with 202 once stored"),
        line("rejected", counts.rejected, "invalid signature, nothing stored"),
        line("delivered", deliveries.size, `${lost}, ${doubles === 0 ? "none twice" : `${doubles} twice`}`),
        line("tasks", tasks.size, open),
        line("approvals", counts.requests, `requested, ${counts.decisions} decided by you`),
        line("messages", counts.messages, `to agents about tasks, and ${counts.comments} comments on them`),
        line("notes", counts.notes, "in the board's memory"),
        line("longest wait", seconds(longest_ms), "from post or change to agent, including outages"),
      ];
    },
  };
}

const line = (label: string, count: number | string, detail: string) =>
  `${label.padEnd(12)}  ${String(count).padEnd(6)} ${detail}`;

const seconds = (ms: number) => (ms < 1000 ? `${Math.round(ms)} ms` : `${(ms / 1000).toFixed(1)} s`);
