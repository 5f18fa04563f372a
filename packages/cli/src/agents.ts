import type { AgentRead, Task, TaskComment } from "@board/client";
import { collect } from "./collect.ts";
import type { Session } from "./session.ts";

/** Lists the agents that the caller may see, on one board or on all. */
export function listAgents({ client, identity }: Session, board_id?: string): Promise<AgentRead[]> {
  const params = { query: board_id === undefined ? {} : { board_id } };
  return collect<AgentRead>(
    identity.type === "agent" ? client.list("/api/v1/agent/agents", { params }) : client.list("/api/v1/agents", { params }),
  );
}

/**
 * Returns the names of agents by their ids. They are read only when an agent works on the task, submitted it or commented on it.
 */
export async function namesOfAgents(
  session: Session,
  task: Task,
  comments: readonly TaskComment[],
): Promise<ReadonlyMap<string, string>> {
  const ids = [task.assigned_agent_id, task.submitted_by_agent_id, ...comments.map(({ agent_id }) => agent_id)];
  if (!ids.some((id) => id)) return new Map();
  const agents = await listAgents(session, task.board_id);
  return new Map(agents.map(({ id, name }) => [id, name]));
}
