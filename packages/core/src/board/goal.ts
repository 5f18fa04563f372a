import { and, eq } from "drizzle-orm";
import * as z from "zod";
import type { BoardRow } from "../access.ts";
import { changesOf, isEmpty } from "../change.ts";
import type { Context } from "../context.ts";
import { Blankable, InstantIn, JsonObject, MAX_TEXT, rule } from "../wire.ts";
import { BoardType } from "./board.ts";
import { boards } from "./board.sql.ts";

/** A whole goal: what is left out, the board has not. */
export const goalFields = {
  board_type: BoardType.describe("Kind of board."),
  objective: Blankable(MAX_TEXT).default(null).describe("What success looks like; needed of a goal board."),
  success_metrics: JsonObject.nullable().default(null).describe("Measurable criteria; needed of a goal board."),
  target_date: InstantIn.nullable().default(null).describe("When the goal should be reached."),
};
export type Goal = z.output<z.ZodObject<typeof goalFields>>;

/** What a confirmed goal board must have, as a rule between the fields of a schema. */
export const isWholeGoal = [
  ({ board_type, objective, success_metrics }: Goal) =>
    board_type !== "goal" || (objective !== null && !isEmpty(success_metrics ?? {})),
  rule("Confirmed goal boards require objective and success_metrics"),
] as const;

/** Gives a locked board the goal that an agent has drafted and a person agreed to. */
export async function confirmGoal(
  ctx: Context,
  board: BoardRow,
  goal: Goal & Pick<BoardRow, "require_approval_for_done">,
): Promise<BoardRow> {
  const changes = changesOf(board, { ...goal, goal_confirmed: true, goal_source: "ai_generated" });
  if (isEmpty(changes)) return board;
  const [row] = await ctx.db
    .update(boards)
    .set(changes)
    .where(and(eq(boards.id, board.id), eq(boards.organization_id, board.organization_id)))
    .returning();
  return row!;
}
