import { and, eq } from "drizzle-orm";
import type { BoardRow } from "../access.ts";
import { toBoardEvents } from "../board-event/board-event.ts";
import type { Context } from "../context.ts";
import { nameTaken } from "./agent.ts";
import { agents } from "./agent.sql.ts";
import { newAgentBoardEvents } from "./board-events.ts";
import { leadSessionKey } from "./host.ts";
import { actingUser, enqueueProvision } from "./lifecycle.ts";
import { mintToken, storedToken } from "./token.ts";

type AgentRow = typeof agents.$inferSelect;

const NAME = "Lead Agent";
const PROFILE = { role: "Board Lead", communication_style: "direct, concise, practical", emoji: ":gear:" };

export interface LeadWishes {
  name?: string | null;
  /** Values that are not blank win over those every lead has. */
  profile?: Readonly<Record<string, string>>;
}

/**
 * The lead of a board, made when it is missing, and then brought onto its host by a job; kept as it is otherwise. One per
 * board, by a unique index. In the caller's transaction.
 */
export async function ensureLead(
  ctx: Context,
  board: Pick<BoardRow, "id" | "gateway_id" | "organization_id">,
  { name, profile = {} }: LeadWishes = {},
): Promise<{ agent: AgentRow; created: boolean }> {
  const present = await findLead(ctx, board.id);
  if (present) return { agent: present, created: false };
  const auth_token = mintToken();
  const wished = Object.entries(profile).filter(([, value]) => value.trim());
  const [made] = await ctx.db
    .insert(agents)
    .values({
      board_id: board.id,
      gateway_id: board.gateway_id,
      name: name?.trim() || NAME,
      is_board_lead: true,
      identity_profile: { ...PROFILE, ...Object.fromEntries(wished) },
      openclaw_session_id: leadSessionKey(board.id),
      lifecycle_generation: 1,
      ...(await storedToken(ctx.settings.token_pepper, auth_token)),
    })
    .onConflictDoNothing()
    .returning();
  if (made) {
    const { organization_id } = board;
    const told = toBoardEvents(ctx, newAgentBoardEvents(organization_id, made));
    await enqueueProvision(ctx, made, { organization_id, user_id: actingUser(ctx), reset: false, auth_token }, told);
    return { agent: made, created: true };
  }
  const other = await findLead(ctx, board.id);
  // No lead was faster, so it is the name that another agent of the board has.
  if (!other) throw nameTaken();
  return { agent: other, created: false };
}

async function findLead(ctx: Context, board_id: string): Promise<AgentRow | undefined> {
  const [lead] = await ctx.db
    .select()
    .from(agents)
    .where(and(eq(agents.board_id, board_id), eq(agents.is_board_lead, true)));
  return lead;
}
