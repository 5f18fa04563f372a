import { eq } from "drizzle-orm";
import * as z from "zod";
import { boardFor } from "@board/core/organization/access";
import { recordAudit } from "@board/core/audit/record";
import type { User } from "@board/core/context/actor";
import { ensureLead } from "@board/core/agent/lead";
import { createToken } from "@board/core/agent/token";
import { type Board, toBoard } from "@board/core/board/board";
import { confirmGoal, GoalFields, completeGoalRule } from "@board/core/board/goal";
import { lockBoard } from "@board/core/board/lock";
import { isEmpty } from "@board/core/values/changed-fields";
import { type Context, transaction } from "@board/core/context/context";
import { updateUser } from "@board/core/organization/profile";
import { Completion, isFullyAutonomous, toLeadOptions, toUserUpdate } from "./draft.ts";
import { board_onboarding_sessions as sessions } from "@board/core/schema/onboarding.sql";
import { lockLatestSession } from "./session.ts";

export const ConfirmOnboarding = GoalFields.refine(...completeGoalRule).meta({ id: "OnboardingConfirm" });
export type ConfirmOnboarding = z.infer<typeof ConfirmOnboarding>;

/**
 * Ends the onboarding of a board with the goal that the user confirmed. The user profile and the options of the lead come from
 * the agent's last completion, if there is one.
 */
export async function confirmOnboarding(ctx: Context<User>, board_id: string, goal: ConfirmOnboarding): Promise<Board> {
  const found = await boardFor(ctx, board_id, "write");
  const token = await createToken(ctx.settings.token_pepper);
  return transaction(ctx, async (ctx) => {
    const board = await lockBoard(ctx, found);
    const session = await lockLatestSession(ctx, board.id);
    const draft = Completion.safeParse(session.draft_goal).data ?? null;
    const confirmed = await confirmGoal(ctx, board, { ...goal, require_approval_for_done: !isFullyAutonomous(draft) });
    await ctx.db.update(sessions).set({ status: "confirmed" }).where(eq(sessions.id, session.id));
    const userUpdate = toUserUpdate(draft);
    if (!isEmpty(userUpdate)) await updateUser(ctx, userUpdate);
    await ensureLead(ctx, confirmed, token, toLeadOptions(draft));
    const { organization_id } = board;
    if (confirmed !== board)
      await recordAudit(ctx, "board.updated", { organization_id, target: board, before: board, after: confirmed });
    return toBoard(confirmed);
  });
}
