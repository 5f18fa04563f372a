import * as z from "zod";
import { type BoardRow, boardFor } from "@board/core/organization/access";
import type { Main, User } from "@board/core/context/actor";
import { type Context, transaction } from "@board/core/context/context";
import { DomainError } from "@board/core/values/errors";
import { TextOrNull, MAX_TEXT, NonEmpty, lazyObject } from "@board/core/values/wire";
import type { AgentReply } from "./draft.ts";
import { appendMessage, lockLatestSession, toMessage, type OnboardingSession, notifyMainAgent, toSession } from "./session.ts";

export const Answer = lazyObject(() => ({
  answer: NonEmpty(MAX_TEXT).describe("The chosen option, or free text."),
  other_text: TextOrNull(MAX_TEXT).default(null).describe("Free text in addition to the option."),
})).meta({ id: "OnboardingAnswer" });
export type Answer = z.infer<typeof Answer>;

/** Stores the user's answer and sends it to the main agent. */
export function answerOnboarding(
  ctx: Context<User>,
  board_id: string,
  { answer, other_text }: Answer,
): Promise<OnboardingSession> {
  return transaction(ctx, async (ctx) => {
    const board = await boardFor(ctx, board_id, "write");
    const session = await lockLatestSession(ctx, board.id);
    const text = other_text ? `${answer}: ${other_text}` : answer;
    const row = await appendMessage(ctx, board, session, toMessage(ctx, "user", text));
    await notifyMainAgent(ctx, board, text);
    return toSession(row);
  });
}

/** Stores a question or a completion of the main agent. The agent may send further completions until the user confirms one. */
export function replyToOnboarding(ctx: Context<Main>, board_id: string, reply: AgentReply): Promise<OnboardingSession> {
  return transaction(ctx, async (ctx) => {
    const board = await boardForMainAgent(ctx, board_id);
    const session = await lockLatestSession(ctx, board.id);
    if (session.status === "confirmed") throw new DomainError("conflict", "Onboarding is already confirmed.");
    const message = toMessage(ctx, "assistant", JSON.stringify(reply));
    const completed = "status" in reply ? ({ status: "completed", draft_goal: reply } as const) : {};
    return toSession(await appendMessage(ctx, board, session, message, completed));
  });
}

/** Returns a board of the caller's gateway. A board of another gateway is refused with a separate error. */
export async function boardForMainAgent(ctx: Context<Main>, board_id: string): Promise<BoardRow> {
  try {
    return await boardFor(ctx, board_id, "write");
  } catch (error) {
    if (error instanceof DomainError && error.kind === "forbidden")
      throw new DomainError("forbidden", "Only the dedicated gateway agent may call this endpoint.");
    throw error;
  }
}
