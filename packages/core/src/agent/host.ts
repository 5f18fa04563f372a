import { slugify } from "../wire.ts";

/** The host's id of an agent: the second segment of its session key, `agent:<id>:main`; a slug of it when it has another form. */
export function hostAgentId(session_key: string): string {
  const [kind, id] = session_key.split(":");
  return kind === "agent" && id ? id : slugify(session_key, "agent");
}

/** The lane of everything that is sent to one agent of one host: in order, and apart from all others. */
export const hostLane = (gateway_id: string, session_key: string): string => `${gateway_id}/${hostAgentId(session_key)}`;
