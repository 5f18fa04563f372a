import { abridge, quote } from "../text.ts";
import { oneLine } from "../wire.ts";

const SNIPPET_CHARS = 500;

interface Said {
  board: { name: string };
  task: { id: string; title: string };
  /** Who says it. */
  from: string;
  comment: string;
  /** Its reader is mentioned in it; otherwise the task is the reader's. */
  mentioned: boolean;
  /** The reader has the task. */
  assigned: boolean;
}

/** What an agent is told of a comment (contract gateways.md §14). */
export function commentText({ board, task, from, comment, mentioned, assigned }: Said): string {
  return [
    mentioned ? "TASK MENTION" : "NEW TASK COMMENT",
    `Board: ${oneLine(board.name)}`,
    `Task: ${oneLine(task.title)}`,
    `Task ID: ${task.id}`,
    `From: ${oneLine(from)}`,
    mentioned ? "You were mentioned in this comment." : "A new comment was posted on your task.",
    "Comment:",
    quote(abridge(comment.trim(), SNIPPET_CHARS)),
    ...(assigned
      ? []
      : ["You are not assigned to this task: reply in a comment on it when an answer is due, and do not change its status."]),
  ].join("\n");
}
