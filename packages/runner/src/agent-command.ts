import { accessSync, constants, statSync } from "node:fs";
import path from "node:path";
import { findKnownAgent, KNOWN_AGENTS } from "./known-agents.ts";

/** The program to start for a task, and how the runner talks to it. */
export interface AgentCommand {
  /** `acp` speaks the Agent Client Protocol. `exec` reads the prompt on standard input and prints lines. */
  protocol: "acp" | "exec";
  /** Names the tool, such as `claude`. */
  tool: string;
  file: string;
  args: readonly string[];
  environment: Readonly<Record<string, string>>;
  /** The mode of the session, if the agent offers it. */
  mode: string | null;
}

type Environment = NodeJS.ProcessEnv;

/** Chooses the command of a known agent: the program in PATH, else npx with an exact version of its package. */
export function toKnownCommand(name: string, environment: Environment): AgentCommand {
  const agent = findKnownAgent(name);
  if (!agent) {
    const names = KNOWN_AGENTS.map((known) => known.name).join(", ");
    throw new Error(`There is no known agent ${name}. Use one of ${names}, or any command that speaks ACP after "--".`);
  }
  const shared = { protocol: "acp", tool: agent.name, environment: agent.environment ?? {}, mode: agent.mode ?? null } as const;
  const found = findProgram(agent.command, environment);
  if (found) return { ...shared, file: found, args: agent.args };
  const npx = findProgram("npx", environment);
  if (!npx) throw new Error(`${agent.title} is not installed, and npx, which would fetch it, is not in PATH.`);
  return { ...shared, file: npx, args: ["--yes", "--prefer-offline", `${agent.package}@${agent.version}`, ...agent.args] };
}

/** Creates the command that a person wrote, either as words after `--` or as the text of `--exec`. */
export function toCustomCommand(
  protocol: AgentCommand["protocol"],
  words: readonly string[],
  environment: Environment,
): AgentCommand {
  const [name, ...args] = words;
  if (!name) throw new Error("The command of the agent is empty.");
  const file = findProgram(name, environment);
  if (!file) throw new Error(`The command ${name} is not in PATH.`);
  const tool = path.basename(name).replace(/\.\w+$/, "");
  return { protocol, tool, file, args, environment: {}, mode: null };
}

/** Splits a command line into words. Quotes protect spaces. No other character has a meaning, because no shell reads the line. */
export function splitWords(line: string): string[] {
  const words: string[] = [];
  for (const [, double, single, plain] of line.matchAll(/"([^"]*)"|'([^']*)'|(\S+)/g)) words.push(double ?? single ?? plain!);
  return words;
}

/** Finds a program by a path, or by a name in PATH. Returns null if there is none. */
export function findProgram(name: string, environment: Environment, platform = process.platform): string | null {
  const endings = endingsOf(name, environment, platform);
  const isPath = name.includes("/") || (platform === "win32" && name.includes("\\"));
  const folders = isPath ? [""] : (environment["PATH"] ?? environment["Path"] ?? "").split(path.delimiter).filter(Boolean);
  for (const folder of folders)
    for (const ending of endings) {
      const file = path.resolve(folder, name + ending);
      if (isProgram(file)) return file;
    }
  return null;
}

/**
 * Returns the extensions to try. Windows starts only files with certain extensions, but a folder may also contain a script for
 * other systems, such as npx next to npx.cmd.
 */
function endingsOf(name: string, environment: Environment, platform: NodeJS.Platform): string[] {
  if (platform !== "win32") return [""];
  const known = (environment["PATHEXT"] ?? ".EXE;.CMD;.BAT").split(";").filter(Boolean);
  return known.some((ending) => name.toLowerCase().endsWith(ending.toLowerCase())) ? [""] : known;
}

function isProgram(file: string): boolean {
  try {
    accessSync(file, constants.X_OK);
    return statSync(file).isFile();
  } catch {
    return false;
  }
}

/** Variables with credentials of the board, which the coding agent must not see. Names of variables ignore case on Windows. */
const BOARD_VARIABLE = /^BOARD(_|$)/i;

/** Returns the environment of the coding agent: the person's environment, without the variables of the board. */
export function toAgentEnvironment(environment: Environment, { environment: added }: AgentCommand): Record<string, string> {
  const kept = Object.entries(environment).filter(([name, value]) => value !== undefined && !BOARD_VARIABLE.test(name));
  // A value that the person has set takes precedence.
  return { ...added, ...(Object.fromEntries(kept) as Record<string, string>) };
}
