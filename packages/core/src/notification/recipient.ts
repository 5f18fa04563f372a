import { and, asc, eq, isNotNull, or, type SQL } from "drizzle-orm";
import { agents } from "../schema/agent.sql.ts";
import { boards } from "../schema/board.sql.ts";
import type { Context } from "../context/context.ts";
import { type GatewayKind, gateways } from "../schema/gateway.sql.ts";

/** An agent to notify: in its session if its gateway has a host, else in its inbox. */
export interface Recipient {
  agent_id: string;
  /** Null for a main agent. */
  board_id: string | null;
  gateway_kind: GatewayKind;
  name: string;
  gateway_id: string;
  organization_id: string;
  openclaw_session_id: string | null;
}

export type BoardRecipient = Recipient & { board_id: string; board_name: string; is_board_lead: boolean };

/** The columns of a recipient, for a select from `agents` joined with `gateways`. */
export const recipientColumns = {
  agent_id: agents.id,
  board_id: agents.board_id,
  gateway_kind: gateways.kind,
  name: agents.name,
  is_board_lead: agents.is_board_lead,
  openclaw_session_id: agents.openclaw_session_id,
  gateway_id: agents.gateway_id,
  organization_id: gateways.organization_id,
};

/** Lists the agents on boards that match the condition, oldest first. Agents that have a host but no session are left out. */
export async function listRecipients(ctx: Context, condition: SQL): Promise<BoardRecipient[]> {
  return ctx.db
    .select({ ...recipientColumns, board_id: boards.id, board_name: boards.name })
    .from(agents)
    .innerJoin(boards, eq(boards.id, agents.board_id))
    .innerJoin(gateways, eq(gateways.id, agents.gateway_id))
    .where(and(condition, or(isNotNull(agents.openclaw_session_id), eq(gateways.kind, "pull"))))
    .orderBy(asc(agents.created_at), asc(agents.id));
}
