/** A coding agent that speaks the Agent Client Protocol on standard input and output. */
export interface KnownAgent {
  name: string;
  title: string;
  /** The command that starts the agent. It is used if it is found in PATH. */
  command: string;
  args: readonly string[];
  /** The npm package that contains the command. If the command is not in PATH, npx runs exactly this version. */
  package: string;
  version: string;
  /** The mode in which the tool asks before it acts, if that is not the mode in which it starts. */
  mode?: string;
  environment?: Readonly<Record<string, string>>;
}

/**
 * The agents in the protocol's registry that are npm packages. A person signs in with the tool itself, so the runner needs no key.
 */
export const KNOWN_AGENTS: readonly KnownAgent[] = [
  {
    name: "claude",
    title: "Claude Code",
    command: "claude-agent-acp",
    args: [],
    package: "@agentclientprotocol/claude-agent-acp",
    version: "0.101.0",
    mode: "default",
  },
  {
    name: "codex",
    title: "Codex",
    command: "codex-acp",
    args: [],
    package: "@agentclientprotocol/codex-acp",
    version: "2.6.0",
  },
  {
    name: "gemini",
    title: "Gemini CLI",
    command: "gemini",
    args: ["--acp"],
    package: "@google/gemini-cli",
    version: "0.61.0",
  },
  {
    name: "opencode",
    title: "opencode",
    command: "opencode",
    args: ["acp"],
    package: "opencode-ai",
    version: "1.18.33",
    // Without this variable, OpenCode runs commands without asking.
    environment: { OPENCODE_PERMISSION: '{"bash":"ask","webfetch":"ask"}' },
  },
  {
    name: "copilot",
    title: "GitHub Copilot",
    command: "copilot",
    args: ["--acp"],
    package: "@github/copilot",
    version: "1.0.102",
  },
  {
    name: "qwen",
    title: "Qwen Code",
    command: "qwen",
    args: ["--acp"],
    package: "@qwen-code/qwen-code",
    version: "0.24.4",
  },
  {
    name: "auggie",
    title: "Auggie",
    command: "auggie",
    args: ["--acp"],
    package: "@augmentcode/auggie",
    version: "0.36.0",
    environment: { AUGMENT_DISABLE_AUTO_UPDATE: "1" },
  },
  { name: "qoder", title: "Qoder", command: "qodercli", args: ["--acp"], package: "@qoder-ai/qodercli", version: "1.1.52" },
];

export const findKnownAgent = (name: string): KnownAgent | undefined => KNOWN_AGENTS.find((agent) => agent.name === name);
