/** The role of an agent, which decides which files it gets. */
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

export const toRole = (agent: { board_id: string | null; is_board_lead: boolean }): AgentRole =>
  agent.board_id === null ? "main" : agent.is_board_lead ? "lead" : "worker";

const COMMON_FILES = ["TOOLS.md", "SOUL.md", "IDENTITY.md", "USER.md"] as const;
const BOARD_AGENT_FILES = [...COMMON_FILES, "MEMORY.md", "HEARTBEAT.md", "BOOTSTRAP.md"] as const;

/**
 * The files of each role in writing order (docs/reference/gateways.md#workspace-files). TOOLS.md comes first, because an agent
 * cannot work without its token. The files that some hosts refuse come last.
 */
export const ROLE_FILES: Readonly<Record<AgentRole, readonly FileName[]>> = {
  lead: [...BOARD_AGENT_FILES, "AGENTS.md", "ROLES.md"],
  worker: BOARD_AGENT_FILES,
  main: COMMON_FILES,
};

/** Files that agents maintain, so an update does not overwrite them on the host. The service never writes LEARNINGS.md. */
export const PRESERVED_FILES: ReadonlySet<FileName> = new Set<FileName>(["USER.md", "MEMORY.md", "LEARNINGS.md"]);
