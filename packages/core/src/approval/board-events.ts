import type { BoardRow } from "../access.ts";
import type { NewBoardEvent } from "../board-event/board-event.ts";
import type { Approval } from "./approval.ts";

type Shown = Pick<Approval, "id" | "status"> & { task_ids: readonly string[] };

/** What leaves on the event bus of an approval: that it waits for a decision, for the first time or again, or that it is decided. */
export const approvalBoardEvents = (board: BoardRow, { id, status, task_ids }: Shown): NewBoardEvent[] => [
  {
    type: status === "pending" ? "approval.requested" : "approval.resolved",
    organization_id: board.organization_id,
    board_id: board.id,
    subject: { type: "approval", id },
    status,
    task_ids: [...task_ids],
  },
];
