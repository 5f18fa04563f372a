import { and, asc, eq, isNotNull, type SQL } from "drizzle-orm";
import { boards } from "../board/board.sql.ts";
import type { Context } from "../context.ts";
import { gateways } from "../gateway/gateway.sql.ts";
import type { Recipient } from "../notice/notice.ts";
import { agents } from "./agent.sql.ts";

export type BoardRecipient = Recipient & { board_id: string; board_name: string; is_board_lead: boolean };

/** Board agents that can be written to, oldest first: those with a session, on the boards that `which` names. */
export async function listRecipients(ctx: Context, which: SQL): Promise<BoardRecipient[]> {
  const rows = await ctx.db
    .select({
      agent_id: agents.id,
      name: agents.name,
      is_board_lead: agents.is_board_lead,
      openclaw_session_id: agents.openclaw_session_id,
      gateway_id: agents.gateway_id,
      organization_id: gateways.organization_id,
      board_id: boards.id,
      board_name: boards.name,
    })
    .from(agents)
    .innerJoin(boards, eq(boards.id, agents.board_id))
    .innerJoin(gateways, eq(gateways.id, agents.gateway_id))
    .where(and(which, isNotNull(agents.openclaw_session_id)))
    .orderBy(asc(agents.created_at), asc(agents.id));
  return rows;
}
