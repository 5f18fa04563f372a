import type { ChatContent } from "../values/chat-content.ts";

/** The kind of a message for each header in its first line (docs/reference/gateways.md#message-texts). */
const KIND_BY_HEADER: ReadonlyMap<string, string> = new Map([
  ["NEW TASK ADDED", "task.created"],
  ["TASK ASSIGNED", "task.assigned"],
  ["TASK READY FOR LEAD REVIEW", "task.review"],
  ["TASK BACK IN INBOX", "task.returned"],
  ["CHANGES REQUESTED", "task.rework"],
  ["TASK BLOCKED", "task.blocked"],
  ["RUN STOPPED", "run.stopped"],
  ["TASK MENTION", "task.mention"],
  ["NEW TASK COMMENT", "task.comment"],
  ["APPROVAL RESOLVED", "approval.resolved"],
  ["QUESTION ANSWERED", "question.answered"],
  ["BOARD UPDATED", "board.updated"],
  ["BOARD GROUP UPDATED", "group.updated"],
  ["BOARD CHAT", "board.chat"],
  ["BOARD CHAT MENTION", "board.mention"],
  ["GROUP CHAT", "group.chat"],
  ["GROUP CHAT MENTION", "group.mention"],
  ["GROUP BROADCAST", "group.broadcast"],
  ["GATEWAY MAIN QUESTION", "lead.question"],
  ["GATEWAY MAIN HANDOFF", "lead.handoff"],
  ["BUDGET ALMOST SPENT", "budget.warned"],
  ["BUDGET SPENT", "budget.exhausted"],
  ["WEBHOOK EVENT RECEIVED", "webhook.received"],
]);

export const NUDGE_KIND = "agent.nudge";

/** Returns the kind of a message that the service wrote: `board.command` for a command, `message` if the header is unknown. */
export function messageKind({ command, message }: ChatContent): string {
  if (command) return "board.command";
  const [header = ""] = (message ?? "").split("\n", 1);
  return KIND_BY_HEADER.get(header) ?? "message";
}
