import { abridge, quote } from "../text.ts";
import { oneLine } from "../wire.ts";

export type TaskHeader =
  | "NEW TASK ADDED"
  | "TASK ASSIGNED"
  | "TASK READY FOR LEAD REVIEW"
  | "TASK BACK IN INBOX"
  | "CHANGES REQUESTED";

const DESCRIPTION_CHARS = 500;

const ACTIONS: Readonly<Record<TaskHeader, string>> = {
  "NEW TASK ADDED": "triage it: assign it to a worker, or split it up and say what depends on what.",
  "TASK ASSIGNED": "read the task and its comments, move it to in_progress and start; comment when something is unclear.",
  "TASK READY FOR LEAD REVIEW":
    "review the deliverables, then move the task to done, or back to inbox with a comment that says what is missing.",
  "TASK BACK IN INBOX": "see why it came back, then assign it anew or wait for what blocks it.",
  "CHANGES REQUESTED": "read what is asked for, move the task to in_progress, and hand it over for review again.",
};

interface Told {
  id: string;
  title: string;
  description: string | null;
  status: string;
}

/** What an agent is told of a task (contract gateways.md §14). `requested` is what a review asks for; null when it said nothing. */
export function taskText(header: TaskHeader, board: { name: string }, task: Told, requested?: string | null): string {
  const description = task.description?.trim();
  return [
    header,
    `Board: ${oneLine(board.name)}`,
    `Task: ${oneLine(task.title)}`,
    `Task ID: ${task.id}`,
    `Status: ${task.status}`,
    ...(description ? [`Description: ${oneLine(abridge(description, DESCRIPTION_CHARS))}`] : []),
    ...(requested === undefined ? [] : requestedChanges(requested)),
    "",
    `Take action: ${ACTIONS[header]}`,
  ].join("\n");
}

/** The lead's words are kept as they stand, and end where their quotation ends. */
const requestedChanges = (requested: string | null) => [
  "Requested changes:",
  requested === null ? "The lead asks for another round and left no comment; ask in a comment of the task." : quote(requested),
];
