import { and, asc, eq, inArray, isNull, or } from "drizzle-orm";
import type { BoardRow } from "../access.ts";
import { agents } from "../agent/agent.sql.ts";
import type { Context } from "../context.ts";
import { gateways } from "../gateway/gateway.sql.ts";
import type { Recipient } from "../notice/notice.ts";

/** An agent as tasks know it. */
export interface Colleague extends Recipient {
  /** Null for the main agent of a gateway. */
  board_id: string | null;
  is_board_lead: boolean;
}

/**
 * Everybody who may work on a board's tasks, oldest first: its agents and the main agent of its gateway. Besides them those
 * that `also` names, of whichever board of the organization.
 */
export async function readPeople(ctx: Context, board: BoardRow, also: readonly string[] = []): Promise<Colleague[]> {
  return ctx.db
    .select({
      agent_id: agents.id,
      name: agents.name,
      gateway_id: agents.gateway_id,
      organization_id: gateways.organization_id,
      openclaw_session_id: agents.openclaw_session_id,
      board_id: agents.board_id,
      is_board_lead: agents.is_board_lead,
    })
    .from(agents)
    .innerJoin(gateways, eq(gateways.id, agents.gateway_id))
    .where(
      and(
        eq(gateways.organization_id, board.organization_id),
        or(
          eq(agents.board_id, board.id),
          and(isNull(agents.board_id), eq(agents.gateway_id, board.gateway_id)),
          also.length > 0 ? inArray(agents.id, [...also]) : undefined,
        ),
      ),
    )
    .orderBy(asc(agents.created_at), asc(agents.id));
}

/** Whether an agent works on this board: it is on it, or it is the main agent of the board's gateway. */
export const worksOn = (board: BoardRow, { board_id, gateway_id }: Colleague): boolean =>
  board_id === null ? gateway_id === board.gateway_id : board_id === board.id;

export const leadOf = (board: BoardRow, people: readonly Colleague[]): Colleague | undefined =>
  people.find((one) => one.is_board_lead && one.board_id === board.id);
