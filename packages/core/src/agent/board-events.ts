import type { NewBoardEvent } from "../board-event/board-event.ts";
import type { agents } from "./agent.sql.ts";

type AgentRow = typeof agents.$inferSelect;

/** What leaves on the event bus of a new agent: nothing of a main agent, which is on no board. */
export const newAgentBoardEvents = (organization_id: string, { id, board_id, status }: AgentRow): NewBoardEvent[] =>
  board_id === null ? [] : [{ type: "agent.created", organization_id, board_id, subject: { type: "agent", id }, status }];

interface Changed {
  before: AgentRow;
  after: AgentRow;
  /** Only what describes the agent. */
  changes: Partial<AgentRow>;
}

/** Of one whose description changed. One that moves is told of on the board that it leaves and on the one that it comes to. */
export function agentBoardEvents(organization_id: string, { before, after, changes }: Changed): NewBoardEvent[] {
  const changed_fields = Object.keys(changes);
  if (changed_fields.length === 0) return [];
  const { id, status } = after;
  const homes = new Set([before.board_id, after.board_id].filter((home) => home !== null));
  return [...homes].map((board_id) => ({
    type: "agent.updated",
    organization_id,
    board_id,
    subject: { type: "agent", id },
    status,
    changed_fields,
  }));
}
