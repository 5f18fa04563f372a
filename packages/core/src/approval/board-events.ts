import type { BoardRow } from "../organization/access.ts";
import type { NewBoardEvent } from "../context/event-body.ts";
import type { Approval } from "./approval.ts";

type ApprovalState = Pick<Approval, "id" | "status"> & { task_ids: readonly string[] };

/** Returns the board event of a requested, reopened or decided approval. */
export const approvalBoardEvents = (board: BoardRow, { id, status, task_ids }: ApprovalState): NewBoardEvent[] => [
  {
    type: status === "pending" ? "approval.requested" : "approval.resolved",
    organization_id: board.organization_id,
    board_id: board.id,
    subject: { type: "approval", id },
    status,
    task_ids: [...task_ids],
  },
];
