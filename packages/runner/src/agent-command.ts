import { accessSync, constants, statSync } from "node:fs";
import path from "node:path";
import { findKnownAgent, KNOWN_AGENTS } from "./known-agents.ts";

/** The program to start for a task, and how the runner talks to it. */
export interface AgentCommand {
  /** `acp` speaks the Agent Client Protocol; `exec` reads the prompt on standard input and prints lines. */
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

/** Chooses the command of a known agent: the one in PATH, else the exact version that npx runs. */
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

/** A command that a person wrote, either as words after `--` or as the text of `--exec`. */
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

/** Splits a command line into words. Quotes keep blanks together; nothing else has a meaning, because no shell reads it. */
export function splitWords(line: string): string[] {
  const words: string[] = [];
  for (const [, double, single, plain] of line.matchAll(/"([^"]*)"|'([^']*)'|(\S+)/g)) words.push(double ?? single ?? plain!);
  return words;
}

/** Finds a program in PATH, or returns a path that names one. */
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
 * On Windows, scripts for other systems are next to those for Windows, such as npx next to npx.cmd. Windows starts only files
 * with one of its own extensions.
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

/** Variables whose values are credentials of the board. The coding agent must not see them. Windows knows them in any case. */
const BOARD_VARIABLE = /^BOARD(_|$)/i;

/** The environment of the coding agent: that of the person, without everything that belongs to the board. */
export function toAgentEnvironment(environment: Environment, { environment: added }: AgentCommand): Record<string, string> {
  const kept = Object.entries(environment).filter(([name, value]) => value !== undefined && !BOARD_VARIABLE.test(name));
  // If the person has set the variable, their value is used.
  return { ...added, ...(Object.fromEntries(kept) as Record<string, string>) };
}
