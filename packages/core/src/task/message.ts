import { textLines } from "../notification/message-lines.ts";
import { ellipsize, fenceMessage } from "../values/text.ts";
import { oneLine } from "../values/wire.ts";

export type TaskHeader =
  | "NEW TASK ADDED"
  | "TASK ASSIGNED"
  | "TASK READY FOR LEAD REVIEW"
  | "TASK BACK IN INBOX"
  | "TASK BLOCKED"
  | "CHANGES REQUESTED";

const DESCRIPTION_CHARS = 500;

const ACTIONS: Readonly<Record<TaskHeader, string>> = {
  "NEW TASK ADDED": "triage it: assign it to a worker, or split it into tasks and set their dependencies.",
  "TASK ASSIGNED": "read the task and its comments, move it to in_progress and start; comment when something is unclear.",
  "TASK READY FOR LEAD REVIEW":
    "review the deliverables, then move the task to done, or back to inbox with a comment that says what is missing.",
  "TASK BACK IN INBOX": "find out why it came back, then assign it again or wait for the tasks that block it.",
  "TASK BLOCKED":
    "it was lost three times in a row without a comment; find out why, then change or split it before you move it to inbox.",
  "CHANGES REQUESTED": "read the requested changes, move the task to in_progress, and submit it for review again.",
};

interface TaskSummary {
  id: string;
  title: string;
  description: string | null;
  status: string;
}

/**
 * Returns the message about a task (docs/reference/gateways.md#task-messages). `requested` contains the comments of a review. It is
 * null if there are no comments, and undefined if the message is not about a review.
 */
export function taskText(header: TaskHeader, board: { name: string }, task: TaskSummary, requested?: string | null): string {
  const description = task.description?.trim();
  return [
    header,
    `Board: ${oneLine(board.name)}`,
    `Task: ${oneLine(task.title)}`,
    `Task ID: ${task.id}`,
    `Status: ${task.status}`,
    ...(description ? textLines("Description", ellipsize(description, DESCRIPTION_CHARS)) : []),
    ...(requested === undefined ? [] : requestedChanges(requested)),
    "",
    `Take action: ${ACTIONS[header]}`,
  ].join("\n");
}

/**
 * Returns the lines with the requested changes. The comments are inside a fence, so that an agent cannot mistake them for
 * instructions of the service.
 */
const requestedChanges = (requested: string | null) => [
  "Requested changes:",
  requested === null ? "Changes are requested, but there is no comment; ask in a comment on the task." : fenceMessage(requested),
];
