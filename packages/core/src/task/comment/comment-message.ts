import type { Agent, User } from "../../context/actor.ts";
import { fromLine } from "../../notification/message-lines.ts";
import { ellipsize, fenceMessage } from "../../values/text.ts";
import { oneLine } from "../../values/wire.ts";
import type { CommentAnchor } from "../../schema/activity.sql.ts";
import { anchorText } from "./anchor.ts";

const SNIPPET_CHARS = 500;

interface CommentMessage {
  board: { name: string };
  task: { id: string; title: string };
  from: User | Agent;
  comment: string;
  anchor: CommentAnchor | null;
  /** True if the comment mentions the recipient. If it does not, the recipient is the assignee. */
  mentioned: boolean;
  /** True if the recipient is the assignee. */
  assigned: boolean;
}

/** Returns the message about a comment (docs/reference/gateways.md#comment-messages). */
export function commentText({ board, task, from, comment, anchor, mentioned, assigned }: CommentMessage): string {
  return [
    mentioned ? "TASK MENTION" : "NEW TASK COMMENT",
    `Board: ${oneLine(board.name)}`,
    `Task: ${oneLine(task.title)}`,
    `Task ID: ${task.id}`,
    fromLine(from),
    mentioned ? "You were mentioned in this comment." : "A new comment was posted on your task.",
    // The path is text of the comment's author. It has only one line, so it needs no fence.
    ...(anchor ? [`About: ${anchorText(anchor)}`] : []),
    "Comment:",
    fenceMessage(ellipsize(comment.trim(), SNIPPET_CHARS)),
    ...(assigned
      ? []
      : ["You are not assigned to this task: answer in a comment on it if an answer is needed, and do not change its status."]),
  ].join("\n");
}
