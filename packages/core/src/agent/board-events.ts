import type { NewBoardEvent } from "../context/event-body.ts";
import type { agents } from "../schema/agent.sql.ts";

type AgentRow = typeof agents.$inferSelect;

/** Returns the board events of a new agent. There are none for a main agent, because it belongs to no board. */
export const agentCreatedEvents = (organization_id: string, { id, board_id, status }: AgentRow): NewBoardEvent[] =>
  board_id === null ? [] : [{ type: "agent.created", organization_id, board_id, subject: { type: "agent", id }, status }];

interface AgentChange {
  before: AgentRow;
  after: AgentRow;
  /** The changed columns that clients can set. */
  changes: Partial<AgentRow>;
}

/** Returns the board events of a changed agent. A move is published on both the old and the new board. */
export function agentUpdatedEvents(organization_id: string, { before, after, changes }: AgentChange): NewBoardEvent[] {
  const changed_fields = Object.keys(changes);
  if (changed_fields.length === 0) return [];
  const { id, status } = after;
  const board_ids = new Set([before.board_id, after.board_id].filter((board_id) => board_id !== null));
  return [...board_ids].map((board_id) => ({
    type: "agent.updated",
    organization_id,
    board_id,
    subject: { type: "agent", id },
    status,
    changed_fields,
  }));
}
