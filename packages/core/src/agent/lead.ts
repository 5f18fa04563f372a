import { and, eq } from "drizzle-orm";
import { recordAudit } from "../audit/record.ts";
import type { BoardRow } from "../organization/access.ts";
import { storeBoardEvents } from "../subscription/board-event.ts";
import type { Context } from "../context/context.ts";
import { gatewayKind } from "../gateway/target.ts";
import { type AgentRow, agentNameTaken, initialPlace } from "./agent.ts";
import { agents } from "../schema/agent.sql.ts";
import { agentCreatedEvents } from "./board-events.ts";
import { leadSessionKey } from "../values/session-key.ts";
import { actingUserId, enqueueProvision } from "./jobs.ts";
import type { NewToken } from "./token.ts";

const NAME = "Lead Agent";
const PROFILE = { role: "Board Lead", communication_style: "direct, concise, practical", emoji: ":gear:" };

export interface LeadOptions {
  name?: string | null;
  /** Values for keys of the lead's profile. A value that is not blank replaces the default of its key. */
  profile?: Readonly<Record<string, string>>;
}

/**
 * Returns the lead of a board. If there is none, it creates the lead with this token and enqueues its provisioning. A unique
 * index allows one lead per board. Call it in a transaction.
 */
export async function ensureLead(
  ctx: Context,
  board: Pick<BoardRow, "id" | "gateway_id" | "organization_id">,
  { auth_token, stored }: NewToken,
  { name, profile = {} }: LeadOptions = {},
): Promise<{ agent: AgentRow; created: boolean }> {
  const existing = await findLead(ctx, board.id);
  if (existing) return { agent: existing, created: false };
  const overrides = Object.entries(profile).filter(([, value]) => value.trim());
  const [created] = await ctx.db
    .insert(agents)
    .values({
      board_id: board.id,
      gateway_id: board.gateway_id,
      name: name?.trim() || NAME,
      is_board_lead: true,
      identity_profile: { ...PROFILE, ...Object.fromEntries(overrides) },
      ...initialPlace(await gatewayKind(ctx, board), leadSessionKey(board.id)),
      lifecycle_generation: 1,
      ...stored,
    })
    .onConflictDoNothing()
    .returning();
  if (created) {
    const { organization_id } = board;
    const boardEventJobs = await storeBoardEvents(ctx, agentCreatedEvents(organization_id, created));
    await enqueueProvision(
      ctx,
      created,
      { organization_id, user_id: actingUserId(ctx), reset: false, auth_token },
      boardEventJobs,
    );
    await recordAudit(ctx, "agent.created", {
      organization_id,
      target: created,
      after: { board_id: board.id, is_board_lead: true },
    });
    return { agent: created, created: true };
  }
  const concurrent = await findLead(ctx, board.id);
  // There is still no lead, so a lead did not cause the conflict. A different agent on the board has this name.
  if (!concurrent) throw agentNameTaken();
  return { agent: concurrent, created: false };
}

async function findLead(ctx: Context, board_id: string): Promise<AgentRow | undefined> {
  const [lead] = await ctx.db
    .select()
    .from(agents)
    .where(and(eq(agents.board_id, board_id), eq(agents.is_board_lead, true)));
  return lead;
}
