import { and, asc, eq, isNull, or, sql } from "drizzle-orm";
import type { BoardRow } from "../organization/access.ts";
import { agents } from "../schema/agent.sql.ts";
import type { Context } from "../context/context.ts";
import { preparedQuery } from "../db/prepared.ts";
import { gateways } from "../schema/gateway.sql.ts";
import { type Recipient, recipientColumns } from "./recipient.ts";

/** An agent that may work on tasks of a board and is notified about them. */
export interface BoardAgent extends Recipient {
  is_board_lead: boolean;
}

/**
 * Returns the agents that may work on tasks of a board, oldest first: the agents of the board and the main agent of its gateway.
 * `also_ids` adds agents of other boards of the organization.
 */
export function readBoardAgents(ctx: Context, board: BoardRow, also_ids: readonly string[] = []): Promise<BoardAgent[]> {
  const { id: board_id, organization_id, gateway_id } = board;
  return selectAgents(ctx.db, also_ids.length > 0).execute({ board_id, organization_id, gateway_id, also_ids });
}

const selectAgents = preparedQuery((db, others: boolean) =>
  db
    .select(recipientColumns)
    .from(agents)
    .innerJoin(gateways, eq(gateways.id, agents.gateway_id))
    .where(
      and(
        eq(gateways.organization_id, sql.placeholder("organization_id")),
        or(
          eq(agents.board_id, sql.placeholder("board_id")),
          and(isNull(agents.board_id), eq(agents.gateway_id, sql.placeholder("gateway_id"))),
          others ? sql`${agents.id} = any(${sql.placeholder("also_ids")}::uuid[])` : undefined,
        ),
      ),
    )
    .orderBy(asc(agents.created_at), asc(agents.id)),
);

/** Returns whether an agent may work on the board: it is an agent of the board or the main agent of the board's gateway. */
export const canWorkOn = (board: BoardRow, { board_id, gateway_id }: BoardAgent): boolean =>
  board_id === null ? gateway_id === board.gateway_id : board_id === board.id;

export const findBoardLead = (board: BoardRow, candidates: readonly BoardAgent[]): BoardAgent | undefined =>
  candidates.find((agent) => agent.is_board_lead && agent.board_id === board.id);
