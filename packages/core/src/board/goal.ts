import { and, eq } from "drizzle-orm";
import * as z from "zod";
import type { BoardRow } from "../organization/access.ts";
import { changedFields, isEmpty, isSameInOrder } from "../values/changed-fields.ts";
import type { Context } from "../context/context.ts";
import { DomainError } from "../values/errors.ts";
import { TextOrNull, InstantInput, JsonObject, MAX_TEXT, areValid, valueError, lazyObject } from "../values/wire.ts";
import { BoardType } from "./board-type.ts";
import { boards } from "../schema/board.sql.ts";

/** A complete goal. When a goal is confirmed, a field that is missing here is cleared on the board. */
export const GoalFields = lazyObject(() => ({
  board_type: BoardType.describe("Kind of board."),
  objective: TextOrNull(MAX_TEXT).default(null).describe("What success looks like; required for a goal board."),
  success_metrics: JsonObject.nullable().default(null).describe("Measurable criteria; required for a goal board."),
  target_date: InstantInput.nullable().default(null).describe("When the goal should be reached."),
}));
export type Goal = z.output<typeof GoalFields>;

const GOAL_INCOMPLETE = "Confirmed goal boards require objective and success_metrics";

type GoalRuleFields = Pick<Goal, "board_type" | "objective" | "success_metrics">;

/** Returns whether the goal has all required fields. A board of type `goal` needs an objective and metrics, other types do not. */
const isCompleteGoal = ({ board_type, objective, success_metrics }: GoalRuleFields): boolean =>
  board_type !== "goal" || (!!objective?.trim() && !isEmpty(success_metrics ?? {}));

/** The goal rule for a schema: `schema.refine(...completeGoalRule)`. */
export const completeGoalRule = [
  isCompleteGoal,
  { ...valueError(GOAL_INCOMPLETE), when: areValid("board_type", "objective", "success_metrics") },
] as const;

/** Checks the goal rule against the board as it will be after a change. */
export function requireCompleteGoal(board: GoalRuleFields & { goal_confirmed: boolean }): void {
  if (board.goal_confirmed && !isCompleteGoal(board)) throw new DomainError("invalid", GOAL_INCOMPLETE);
}

/** Stores the confirmed goal of an onboarding. The caller must hold the lock on the board. */
export async function confirmGoal(
  ctx: Context,
  board: BoardRow,
  goal: Goal & Pick<BoardRow, "require_approval_for_done">,
): Promise<BoardRow> {
  const changes = changedFields(board, { ...goal, goal_confirmed: true, goal_source: "ai_generated" }, isSameInOrder);
  if (isEmpty(changes)) return board;
  const [row] = await ctx.db
    .update(boards)
    .set(changes)
    .where(and(eq(boards.id, board.id), eq(boards.organization_id, board.organization_id)))
    .returning();
  return row!;
}
