import { trimEndOf } from "./text.ts";
import { slugify } from "./wire.ts";

/** Returns the id of an agent on its host: the second part of a session key `agent:<id>:main`, or a slug of any other key. */
export function hostAgentId(session_key: string): string {
  const [kind, id] = session_key.split(":");
  return kind === "agent" && id ? id : slugify(session_key, "agent");
}

/** Returns the id of an agent's entry on its host. If the agent has no session key, its name is used instead. */
export const toEntryId = ({ openclaw_session_id, name }: { openclaw_session_id: string | null; name: string }): string =>
  hostAgentId(openclaw_session_id ?? name);

/** Returns the lane of all jobs that send to one agent on one host. The jobs run in order, and independently of other agents. */
export const hostLane = (gateway_id: string, session_key: string): string => `${gateway_id}/${hostAgentId(session_key)}`;

/** Returns the session key of a board's lead. It stays the same if the board gets a different lead. */
export const leadSessionKey = (board_id: string): string => `agent:lead-${board_id}:main`;

/** Returns the session key of an agent of a board that is not its lead. */
export const agentSessionKey = (agent_id: string): string => `agent:mc-${agent_id}:main`;

/** Returns the folder of an agent below the workspace root of its gateway. The host expands a `~` in the root. */
export function workspacePath(workspace_root: string, host_agent_id: string): string {
  const key = host_agent_id.replace(/^mc-gateway-/, "gateway-");
  return `${trimEndOf(workspace_root.trim(), "/")}/workspace-${slugify(key, "agent")}`;
}
