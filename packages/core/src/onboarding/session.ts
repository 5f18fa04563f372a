import { desc, eq } from "drizzle-orm";
import * as z from "zod";
import { type BoardRow, boardFor } from "../access.ts";
import { mainSessionKey, type User } from "../actor.ts";
import type { Context } from "../context.ts";
import { notFound } from "../errors.ts";
import { notify } from "../notice/notice.ts";
import { Id, Instant } from "../wire.ts";
import { board_onboarding_sessions as sessions, type OnboardingMessage } from "./onboarding.sql.ts";

export const OnboardingSession = z
  .object({
    id: Id.describe("Id of the session."),
    board_id: Id.describe("Board that is onboarded."),
    session_key: z.string().describe("Session of the main agent that asks the questions."),
    status: z.enum(["active", "completed", "confirmed"]).describe("Completed once there is a draft, confirmed by a person."),
    messages: z
      .array(
        z.object({
          role: z.enum(["user", "assistant"]).describe("The user's side, or the main agent's."),
          content: z.string().describe("The text; of the agent a question or completion as JSON."),
          timestamp: Instant.describe("When it was written."),
        }),
      )
      .describe("The conversation, oldest first; it starts with the request to the agent."),
    draft_goal: z.record(z.string(), z.unknown()).nullable().describe("The last completion."),
    created_at: Instant.describe("When the session was started."),
    updated_at: Instant.describe("When it last changed."),
  })
  .meta({ id: "OnboardingSession", description: "A conversation that settles goal and lead of a board." });
export type OnboardingSession = z.infer<typeof OnboardingSession>;

export type SessionRow = typeof sessions.$inferSelect;

const latest = (ctx: Context, board_id: string) =>
  ctx.db
    .select()
    .from(sessions)
    .where(eq(sessions.board_id, board_id))
    .orderBy(desc(sessions.updated_at), desc(sessions.id))
    .limit(1);

/** The latest session of a board. */
export async function getOnboarding(ctx: Context<User>, board_id: string): Promise<OnboardingSession> {
  const board = await boardFor(ctx, board_id, "read");
  const [row] = await latest(ctx, board.id);
  if (!row) throw notFound();
  return toSession(row);
}

/** The latest session, held until the transaction ends, so that no message is lost to another writer. */
export async function lockLatest(ctx: Context, board_id: string): Promise<SessionRow> {
  const [row] = await latest(ctx, board_id).for("update");
  if (!row) throw notFound();
  return row;
}

/** Adds a message to a locked session. The session follows its board to another gateway. */
export async function append(
  ctx: Context,
  board: BoardRow,
  session: SessionRow,
  message: OnboardingMessage,
  changes: Partial<Pick<SessionRow, "status" | "draft_goal">> = {},
): Promise<SessionRow> {
  const [row] = await ctx.db
    .update(sessions)
    .set({ ...changes, messages: [...session.messages, message], session_key: mainSessionKey(board.gateway_id) })
    .where(eq(sessions.id, session.id))
    .returning();
  return row!;
}

export const messageOf = (ctx: Context, role: OnboardingMessage["role"], content: string): OnboardingMessage => ({
  role,
  content,
  timestamp: ctx.now().toISOString(),
});

/** The label of every main agent's session, whatever the agent is called. */
const LABEL = "Gateway Agent";

/** Sends a text to the main agent of the board's gateway, as a job in the caller's transaction. */
export const tellMain = (ctx: Context, { gateway_id, organization_id }: BoardRow, message: string): Promise<void> =>
  notify(ctx, { name: LABEL, gateway_id, organization_id, openclaw_session_id: mainSessionKey(gateway_id) }, { message });

export function toSession(row: SessionRow): OnboardingSession {
  return { ...row, created_at: row.created_at.toISOString(), updated_at: row.updated_at.toISOString() };
}
