import { and, eq } from "drizzle-orm";
import { type BoardRow, boardFor } from "@board/core/organization/access";
import { mainSessionKey, type User } from "@board/core/context/actor";
import { actingFor } from "@board/core/db/change-actor";
import { type Context, transaction } from "@board/core/context/context";
import { DomainError } from "@board/core/values/errors";
import { findUsableGateway } from "@board/core/gateway/target";
import { board_onboarding_sessions as sessions } from "@board/core/schema/onboarding.sql";
import { onboardingPrompt } from "./prompt.ts";
import { toMessage, type OnboardingSession, type SessionRow, notifyMainAgent, toSession } from "./session.ts";
import { lazyObject } from "@board/core/values/wire";

export const StartOnboarding = lazyObject(() => ({})).meta({ id: "OnboardingStart" });

/**
 * Starts the onboarding of a board, or returns its active session. A unique index allows only one active session. If the agent
 * has not replied to the last message, the message is sent again.
 */
export function startOnboarding(ctx: Context<User>, board_id: string): Promise<OnboardingSession> {
  return transaction(ctx, async (ctx) => {
    const board = await boardFor(ctx, board_id, "write");
    if (!(await findUsableGateway(ctx, board.gateway_id))) throw new DomainError("invalid", "Gateway url is required");
    const session = await lockOrCreateActiveSession(ctx, board);
    const last = session.messages.at(-1);
    if (last?.role === "user") await notifyMainAgent(ctx, board, last.content);
    return toSession(session);
  });
}

async function lockOrCreateActiveSession(ctx: Context, board: BoardRow): Promise<SessionRow> {
  for (;;) {
    const [active] = await ctx.db
      .select()
      .from(sessions)
      .where(and(eq(sessions.board_id, board.id), eq(sessions.status, "active")))
      .for("update");
    if (active) return active;
    const [created] = await ctx.db
      .insert(sessions)
      .values({
        board_id: actingFor(ctx, board.id),
        session_key: mainSessionKey(board.gateway_id),
        messages: [toMessage(ctx, "user", onboardingPrompt(board, ctx.settings.service_url))],
      })
      .onConflictDoNothing()
      .returning();
    if (created) return created;
    // A concurrent request created the session, so the next attempt reads it.
  }
}
