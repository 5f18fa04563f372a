import { oneLine } from "../wire.ts";
import type { Approval } from "./approval.ts";

/** What agents are told of a decision (contract gateways.md §14). */
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
      ? "Take action: go on with what was approved."
      : "Take action: leave what was rejected undone, and plan anew.",
  ].join("\n");
}
