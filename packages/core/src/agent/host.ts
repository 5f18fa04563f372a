import { slugify } from "../wire.ts";

/** The host's id of an agent: the second segment of its session key, `agent:<id>:main`; a slug of it when it has another form. */
export function hostAgentId(session_key: string): string {
  const [kind, id] = session_key.split(":");
  return kind === "agent" && id ? id : slugify(session_key, "agent");
}

/** The lane of everything that is sent to one agent of one host: in order, and apart from all others. */
export const hostLane = (gateway_id: string, session_key: string): string => `${gateway_id}/${hostAgentId(session_key)}`;

/** The session of a board's lead: one per board, whoever leads it. */
export const leadSessionKey = (board_id: string): string => `agent:lead-${board_id}:main`;

/** The session of any other agent of a board. */
export const ownSessionKey = (agent_id: string): string => `agent:mc-${agent_id}:main`;

/** Folder of an agent below the workspace root of its gateway. The root is the host's affair: `~` stays as it is. */
export function workspacePath(workspace_root: string, host_agent_id: string): string {
  const key = host_agent_id.replace(/^mc-gateway-/, "gateway-");
  return `${workspace_root.trim().replace(/\/+$/, "")}/workspace-${slugify(key, "agent")}`;
}
