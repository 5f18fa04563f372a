import { and, eq } from "drizzle-orm";
import * as z from "zod";
import { type BoardRow, boardFor } from "../access.ts";
import { mainSessionKey, type User } from "../actor.ts";
import { type Context, transaction } from "../context.ts";
import { DomainError } from "../errors.ts";
import { findUsableGateway } from "../gateway/send.ts";
import { board_onboarding_sessions as sessions } from "./onboarding.sql.ts";
import { onboardingPrompt } from "./prompt.ts";
import { messageOf, type OnboardingSession, type SessionRow, tellMain, toSession } from "./session.ts";

export const StartOnboarding = z.object({}).meta({ id: "OnboardingStart" });

/**
 * The active session of a board, made when there is none; a unique index lets there be one. An agent that still owes a
 * reply is told again what it was told last.
 */
export function startOnboarding(ctx: Context<User>, board_id: string): Promise<OnboardingSession> {
  return transaction(ctx, async (ctx) => {
    const board = await boardFor(ctx, board_id, "write");
    if (!(await findUsableGateway(ctx, board.gateway_id))) throw new DomainError("invalid", "Gateway url is required");
    const session = await makeOrLockActive(ctx, board);
    const last = session.messages.at(-1);
    if (last?.role === "user") await tellMain(ctx, board, last.content);
    return toSession(session);
  });
}

async function makeOrLockActive(ctx: Context, board: BoardRow): Promise<SessionRow> {
  for (;;) {
    const [active] = await ctx.db
      .select()
      .from(sessions)
      .where(and(eq(sessions.board_id, board.id), eq(sessions.status, "active")))
      .for("update");
    if (active) return active;
    const [made] = await ctx.db
      .insert(sessions)
      .values({
        board_id: board.id,
        session_key: mainSessionKey(board.gateway_id),
        messages: [messageOf(ctx, "user", onboardingPrompt(board, ctx.settings.service_url))],
      })
      .onConflictDoNothing()
      .returning();
    if (made) return made;
    // Another request was faster: look again.
  }
}
