import type { BoardGroupRow, BoardRow } from "../organization/access.ts";
import { snippet } from "../values/text.ts";
import { oneLine } from "../values/wire.ts";

/**
 * Returns the message that informs the lead of what changed. `before` is the board with the old values
 * (docs/reference/gateways.md#board-messages).
 */
export function boardUpdatedText(board: BoardRow, before: BoardRow, changes: Partial<BoardRow>): string {
  const fields = Object.keys(changes).toSorted() as (keyof BoardRow)[];
  return [
    "BOARD UPDATED",
    `Board: ${oneLine(board.name)}`,
    `Board ID: ${board.id}`,
    "Changed fields:",
    ...fields.map((field) => `- ${field}: ${formatValue(before[field])} -> ${formatValue(board[field])}`),
    "Take action: read the board again and fit plans, tasks and assignments to the changes.",
  ].join("\n");
}

/** Longer values are cut in messages. The lead can read the whole text on the board. */
const VALUE_CHARS = 497;

const formatValue = (value: unknown): string =>
  snippet(
    oneLine(value instanceof Date ? value.toISOString() : typeof value === "string" ? value : JSON.stringify(value)),
    VALUE_CHARS,
  );

export type GroupChangeKind = "Joined" | "Left";

interface GroupChange {
  kind: GroupChangeKind;
  board: BoardRow;
  group: BoardGroupRow;
  recipient: { board_id: string; board_name: string };
}

/** Returns the message to an agent of the board or of its group, when the board joins or leaves the group. */
export function groupUpdatedText({ kind, board, group, recipient }: GroupChange): string {
  return [
    "BOARD GROUP UPDATED",
    `${kind} Board: ${oneLine(board.name)}`,
    `${kind} Board ID: ${board.id}`,
    `Recipient Board: ${oneLine(recipient.board_name)}`,
    `Recipient Board ID: ${recipient.board_id}`,
    `Board Group: ${oneLine(group.name)}`,
    `Board Group ID: ${group.id}`,
    "Coordination guidance:",
    ...GUIDANCE[kind](recipient.board_id),
  ].join("\n");
}

const GUIDANCE: Record<GroupChangeKind, (board_id: string) => [string, string, string]> = {
  Joined: (board_id) => [
    `1. See what the boards of the group work on: GET /api/v1/boards/${board_id}/group-snapshot`,
    `2. Share plans, hand-overs and blockers with them: POST /api/v1/boards/${board_id}/group-memory`,
    "3. Look for overlapping and dependent work before starting anything new.",
  ],
  Left: (board_id) => [
    "1. Stop relying on plans and hand-overs between that board and the group.",
    "2. Find work that depends on the other side and plan it again.",
    `3. Keep what must not be forgotten in the memory of your board: POST /api/v1/agent/boards/${board_id}/memory`,
  ],
};
