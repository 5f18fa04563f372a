/** What an agent is, and with it which files it gets. */
export type AgentRole = "lead" | "worker" | "main";

export type FileName =
  | "TOOLS.md"
  | "SOUL.md"
  | "IDENTITY.md"
  | "USER.md"
  | "MEMORY.md"
  | "HEARTBEAT.md"
  | "BOOTSTRAP.md"
  | "AGENTS.md"
  | "ROLES.md"
  | "LEARNINGS.md";

export const roleOf = (agent: { board_id: string | null; is_board_lead: boolean }): AgentRole =>
  agent.board_id === null ? "main" : agent.is_board_lead ? "lead" : "worker";

const OF_ALL = ["TOOLS.md", "SOUL.md", "IDENTITY.md", "USER.md"] as const;
const OF_BOARD_AGENTS = [...OF_ALL, "MEMORY.md", "HEARTBEAT.md", "BOOTSTRAP.md"] as const;

/**
 * The files of each role in writing order (contract gateways.md §10.1): the token first, since it decides whether the
 * agent can work at all, and what a host may refuse last.
 */
export const FILES: Readonly<Record<AgentRole, readonly FileName[]>> = {
  lead: [...OF_BOARD_AGENTS, "AGENTS.md", "ROLES.md"],
  worker: OF_BOARD_AGENTS,
  main: OF_ALL,
};

/** What agents write themselves: an update leaves these alone where the host has them. LEARNINGS.md is theirs from the start. */
export const PRESERVED: ReadonlySet<FileName> = new Set<FileName>(["USER.md", "MEMORY.md", "LEARNINGS.md"]);
