import type { AgentCommand } from "./agent-command.ts";
import type { Policy } from "./policy.ts";

/** What a person chose on the command line. */
export interface RunnerOptions {
  command: AgentCommand;
  /** The board to take tasks from; null takes tasks from all boards of the agent. */
  board_id: string | null;
  tags: readonly string[];
  parallel: number;
  /** The folder in which the agent works, or whose repository gets the worktrees. */
  folder: string;
  in_place: boolean;
  base: string | null;
  opens_pull_request: boolean;
  policy: Policy | null;
  lease_seconds: number;
  stall_ms: number;
  ask_timeout_ms: number;
  /** Conditions under which the runner stops by itself. */
  max_tasks: number | null;
  idle_ms: number | null;
  max_cost_usd: number | null;
}

/** What happened, for the person who watches. It may contain text of other people that is not yet safe for a terminal. */
export interface RunnerEvent {
  event: string;
  text: string;
  task_id?: string;
  run_id?: string;
  [fact: string]: unknown;
}

export interface RunnerHost {
  environment: NodeJS.ProcessEnv;
  print: (event: RunnerEvent) => void;
  /** Shows the state of the running tasks, on a terminal. */
  show: (lines: readonly string[]) => void;
  verbose: boolean;
}

/** Parses a duration, such as 90s, 30m or 2h. */
export function parseDuration(text: string): number {
  const match = /^(\d+(?:\.\d+)?)(s|m|h)$/.exec(text.trim());
  const ms = match ? Number(match[1]) * { s: 1_000, m: 60_000, h: 3_600_000 }[match[2] as "s" | "m" | "h"] : 0;
  if (!(ms > 0) || ms > 2 ** 31 - 1)
    throw new Error(`${text} is not a length of time. Use a number with s, m or h, such as 30m.`);
  return ms;
}
