import { and, asc, eq, inArray, isNull, or } from "drizzle-orm";
import type { BoardRow } from "../access.ts";
import { agents } from "../agent/agent.sql.ts";
import type { Context } from "../context.ts";
import { gateways } from "../gateway/gateway.sql.ts";
import { type Recipient, recipientColumns } from "./recipient.ts";

/** An agent that may work on a board's tasks and is notified about them. */
export interface BoardAgent extends Recipient {
  is_board_lead: boolean;
}

/**
 * The agents that may work on a board's tasks, oldest first: those of the board and the main agent of its gateway.
 * `also_ids` adds agents of other boards of the organization.
 */
export async function readBoardAgents(ctx: Context, board: BoardRow, also_ids: readonly string[] = []): Promise<BoardAgent[]> {
  return ctx.db
    .select(recipientColumns)
    .from(agents)
    .innerJoin(gateways, eq(gateways.id, agents.gateway_id))
    .where(
      and(
        eq(gateways.organization_id, board.organization_id),
        or(
          eq(agents.board_id, board.id),
          and(isNull(agents.board_id), eq(agents.gateway_id, board.gateway_id)),
          also_ids.length > 0 ? inArray(agents.id, [...also_ids]) : undefined,
        ),
      ),
    )
    .orderBy(asc(agents.created_at), asc(agents.id));
}

/** Whether an agent may work on the board: it belongs to it, or is the main agent of its gateway. */
export const canWorkOn = (board: BoardRow, { board_id, gateway_id }: BoardAgent): boolean =>
  board_id === null ? gateway_id === board.gateway_id : board_id === board.id;

export const findBoardLead = (board: BoardRow, candidates: readonly BoardAgent[]): BoardAgent | undefined =>
  candidates.find((agent) => agent.is_board_lead && agent.board_id === board.id);
