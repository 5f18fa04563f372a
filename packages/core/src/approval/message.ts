import { textLines } from "../notification/message-lines.ts";
import { oneLine } from "../values/wire.ts";
import type { Approval } from "./approval.ts";
import { answerTextOf } from "./question.ts";

/** Returns the message about a decided approval (docs/reference/gateways.md#approval-messages). */
export function approvalResolvedText(board: { name: string }, approval: Approval): string {
  const { id, action_type, status, confidence, task_ids } = approval;
  return [
    "APPROVAL RESOLVED",
    `Board: ${oneLine(board.name)}`,
    `Approval ID: ${id}`,
    `Action: ${oneLine(action_type)}`,
    `Decision: ${status}`,
    `Confidence: ${confidence}`,
    ...(task_ids.length > 0 ? [`Task ID${task_ids.length > 1 ? "s" : ""}: ${task_ids.join(", ")}`] : []),
    status === "approved"
      ? "Take action: proceed with the approved action."
      : "Take action: do not carry out the rejected action, and change your plan.",
  ].join("\n");
}

/** Returns the message with the answer to a question (docs/reference/gateways.md#approval-messages). */
export function questionAnsweredText(board: { name: string }, approval: Approval): string {
  const { id, description, task_ids } = approval;
  const answer = answerTextOf(approval);
  return [
    "QUESTION ANSWERED",
    `Board: ${oneLine(board.name)}`,
    `Approval ID: ${id}`,
    ...(task_ids.length > 0 ? [`Task ID${task_ids.length > 1 ? "s" : ""}: ${task_ids.join(", ")}`] : []),
    ...textLines("Question", description ?? ""),
    ...(answer === null ? ["Answer: none"] : textLines("Answer", answer)),
    answer === null
      ? "Take action: a person declined to answer; do not ask the same again, and choose what can be undone."
      : "Take action: go on by this answer.",
  ].join("\n");
}
