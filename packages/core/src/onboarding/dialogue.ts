import * as z from "zod";
import { type BoardRow, boardFor } from "../access.ts";
import type { Main, User } from "../actor.ts";
import { type Context, transaction } from "../context.ts";
import { DomainError } from "../errors.ts";
import { Blankable, MAX_TEXT, NonEmpty } from "../wire.ts";
import type { AgentReply } from "./draft.ts";
import { append, lockLatest, messageOf, type OnboardingSession, tellMain, toSession } from "./session.ts";

export const Answer = z
  .object({
    answer: NonEmpty(MAX_TEXT).describe("The chosen option, or free text."),
    other_text: Blankable(MAX_TEXT).default(null).describe("The user's own words beside it."),
  })
  .meta({ id: "OnboardingAnswer" });
export type Answer = z.infer<typeof Answer>;

/** Takes the user's answer, and sends it to the main agent. */
export function answerOnboarding(
  ctx: Context<User>,
  board_id: string,
  { answer, other_text }: Answer,
): Promise<OnboardingSession> {
  return transaction(ctx, async (ctx) => {
    const board = await boardFor(ctx, board_id, "write");
    const session = await lockLatest(ctx, board.id);
    const text = other_text ? `${answer}: ${other_text}` : answer;
    const row = await append(ctx, board, session, messageOf(ctx, "user", text));
    await tellMain(ctx, board, text);
    return toSession(row);
  });
}

/** Takes a question or a completion of the main agent. A completion may be repeated until a person has confirmed one. */
export function replyToOnboarding(ctx: Context<Main>, board_id: string, reply: AgentReply): Promise<OnboardingSession> {
  return transaction(ctx, async (ctx) => {
    const board = await boardOfMain(ctx, board_id);
    const session = await lockLatest(ctx, board.id);
    if (session.status === "confirmed") throw new DomainError("conflict", "Onboarding is already confirmed.");
    const message = messageOf(ctx, "assistant", JSON.stringify(reply));
    const completed = "status" in reply ? ({ status: "completed", draft_goal: reply } as const) : {};
    return toSession(await append(ctx, board, session, message, completed));
  });
}

/** A board on the caller's gateway; another gateway's has a refusal of its own. */
export async function boardOfMain(ctx: Context<Main>, board_id: string): Promise<BoardRow> {
  try {
    return await boardFor(ctx, board_id, "write");
  } catch (error) {
    if (error instanceof DomainError && error.kind === "forbidden")
      throw new DomainError("forbidden", "Only the dedicated gateway agent may call this endpoint.");
    throw error;
  }
}
