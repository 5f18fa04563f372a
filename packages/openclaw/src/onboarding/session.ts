import { and, desc, eq, getTableColumns, type SQL, sql } from "drizzle-orm";
import * as z from "zod";
import { type BoardRow, boardFor } from "@board/core/organization/access";
import { mainSessionKey, type User } from "@board/core/context/actor";
import { actingAs } from "@board/core/db/change-actor";
import type { Context } from "@board/core/context/context";
import { DomainError, notFound } from "@board/core/values/errors";
import { largeObject, readShortened, toShortened, truncatable } from "@board/core/lists/large-fields";
import { notify } from "@board/core/notification/notification";
import { Id, Instant, lazyObject } from "@board/core/values/wire";
import { board_onboarding_sessions as sessions, type OnboardingMessage } from "@board/core/schema/onboarding.sql";

export const OnboardingSession = lazyObject(() => ({
  id: Id.describe("Id of the session."),
  board_id: Id.describe("Board of the onboarding."),
  session_key: z.string().describe("Session of the main agent that asks the questions."),
  status: z
    .enum(["active", "completed", "confirmed"])
    .describe("`completed` once there is a draft, `confirmed` once a user has accepted a goal."),
  messages: z
    .array(
      z.object({
        role: z.enum(["user", "assistant"]).describe("`user`, or `assistant` for the main agent."),
        content: z.string().describe("The text; a question or completion of the agent is JSON."),
        timestamp: Instant.describe("When it was written."),
      }),
    )
    .describe("The conversation, oldest first. It starts with the prompt for the agent."),
  draft_goal: z.record(z.string(), z.unknown()).nullable().describe("The last completion."),
  created_at: Instant.describe("When the session was started."),
  updated_at: Instant.describe("When the session last changed."),
  ...truncatable,
})).meta({ id: "OnboardingSession", description: "A conversation that defines the goal and the lead of a board." });
export type OnboardingSession = z.infer<typeof OnboardingSession>;

export type SessionRow = typeof sessions.$inferSelect;

const sessionColumns = getTableColumns(sessions);
/** A session that was stored before the size limit existed can be large. Only the newest messages of such a session are shown. */
const LARGE_SESSION_FIELDS = {
  messages: { ...largeObject, shorten: (messages: SQL) => sql`jsonb_path_query_array(${messages}, '$[last - 4 to last]')` },
};

const latestSessionQuery = (ctx: Context, board_id: string, columns = sessionColumns) =>
  ctx.db
    .select(columns)
    .from(sessions)
    .where(eq(sessions.board_id, board_id))
    .orderBy(desc(sessions.updated_at), desc(sessions.id))
    .limit(1);

/** Returns the latest session of a board. */
export async function getOnboarding(ctx: Context<User>, board_id: string): Promise<OnboardingSession> {
  const board = await boardFor(ctx, board_id, "read");
  const [row] = await readShortened(ctx, { fields: sessionColumns, large: LARGE_SESSION_FIELDS, max_rows: 1 }, (columns) =>
    latestSessionQuery(ctx, board.id, columns as unknown as typeof sessionColumns),
  );
  if (!row) throw notFound();
  return toShortened(row, toSession);
}

/** Limits the size of a session, because each message rewrites the whole row and each response contains all messages. */
function requireRoom({ settings }: Context, messages: readonly OnboardingMessage[]): void {
  const max_bytes = settings.budgets.onboarding_max_bytes;
  if (Buffer.byteLength(JSON.stringify(messages)) > max_bytes)
    throw new DomainError("conflict", `Onboarding messages may have at most ${max_bytes} bytes. Confirm the onboarding.`);
}

/** Locks the latest session until the transaction ends, so that concurrent writers do not lose messages. */
export async function lockLatestSession(ctx: Context, board_id: string): Promise<SessionRow> {
  const [row] = await latestSessionQuery(ctx, board_id).for("update");
  if (!row) throw notFound();
  return row;
}

/** Adds a message to a locked session. It also updates the session key, since the board may have moved to another gateway. */
export async function appendMessage(
  ctx: Context,
  board: BoardRow,
  session: SessionRow,
  message: OnboardingMessage,
  changes: Partial<Pick<SessionRow, "status" | "draft_goal">> = {},
): Promise<SessionRow> {
  const messages = [...session.messages, message];
  requireRoom(ctx, messages);
  const [row] = await ctx.db
    .update(sessions)
    .set({ ...changes, messages, session_key: mainSessionKey(board.gateway_id) })
    .where(and(eq(sessions.id, session.id), actingAs(ctx)))
    .returning();
  return row!;
}

export const toMessage = (ctx: Context, role: OnboardingMessage["role"], content: string): OnboardingMessage => ({
  role,
  content,
  timestamp: ctx.now().toISOString(),
});

/** The label of a main agent's session, independent of the agent's name. */
const MAIN_SESSION_LABEL = "Gateway Agent";

/** Enqueues a message to the main agent of the board's gateway, in the caller's transaction. */
export const notifyMainAgent = (ctx: Context, { gateway_id, organization_id }: BoardRow, message: string): Promise<void> =>
  notify(
    ctx,
    {
      gateway_kind: "openclaw",
      name: MAIN_SESSION_LABEL,
      gateway_id,
      organization_id,
      openclaw_session_id: mainSessionKey(gateway_id),
    },
    { message },
  );

export function toSession(row: SessionRow): OnboardingSession {
  return { ...row, created_at: row.created_at.toISOString(), updated_at: row.updated_at.toISOString() };
}
