import { Option } from "commander";
import type { AddCommands } from "../cli.ts";

/** The options of `run`, as they were written on the command line. */
export interface RunFlags {
  exec?: string;
  name?: string;
  tag?: string[];
  parallel: number;
  repo?: string;
  worktree?: boolean;
  inPlace?: boolean;
  base?: string;
  pr?: boolean;
  policy?: string;
  once?: boolean;
  idle?: string;
  maxTasks?: number;
  maxCost?: number;
  lease: number;
  stall: string;
  askTimeout: string;
  verbose?: boolean;
  list?: boolean;
  clean?: boolean;
  service?: boolean;
  remove?: boolean;
}

function toWhole(text: string): number {
  if (!/^[1-9]\d{0,5}$/.test(text)) throw new Error(`${text} is not a whole number above 0.`);
  return Number(text);
}

function toAmount(text: string): number {
  if (!/^\d{1,6}(\.\d+)?$/.test(text)) throw new Error(`${text} is not an amount in US dollars.`);
  return Number(text);
}

/** Adds the command with which a machine works on tasks. The runner is loaded only when the command is used. */
export const addRun: AddCommands = (program, host) => {
  program
    .command("run [agent]")
    .description("Work on the tasks of a board with the coding agent of this machine, such as: board run claude")
    .usage("<agent> [options]\n       board run [options] -- <command that speaks ACP>")
    .allowExcessArguments()
    .option("--exec <command>", "any other command: it reads the task on standard input, and exit code 0 means success")
    .option("--name <name>", "name of the agent on the board; by default the machine and the tool")
    .option("-t, --tag <slug...>", "only tasks with one of these tags")
    .option("--parallel <n>", "tasks at once", toWhole, 1)
    .option("--repo <path>", "repository to work in; by default the current folder")
    .addOption(new Option("--worktree", "a worktree per task: the default in a git repository").conflicts("inPlace"))
    .option("--in-place", "work in the folder itself")
    .option("--base <branch>", "branch from which the work begins; by default the current commit")
    .option("--pr", "push the branch and open a pull request")
    .option("--policy <file>", "what the agent may do without asking; by default .board/policy.json of the repository")
    .option("--once", "stop after one task")
    .option("--idle <time>", "stop when there has been no task for this time, such as 30m")
    .option("--max-tasks <n>", "stop after this number of tasks", toWhole)
    .option("--max-cost <usd>", "stop once the agents have reported this cost", toAmount)
    .option("--lease <seconds>", "length of the lease of a task, 60 to 86400", toWhole, 900)
    .option("--stall <time>", "give the task back when the agent has been silent for this time", "15m")
    .option("--ask-timeout <time>", "deny a permission that nobody answers within this time", "30m")
    .option("--verbose", "print every step")
    .option("--list", "list the known agents, and how each is started")
    .option("--clean", "list the worktrees of tasks, and remove those without changes whose task is done")
    .option("--service", "write a unit that starts the runner at every sign-in, and say how to start it")
    .addOption(new Option("--remove", "remove that unit").implies({ service: true }))
    .action(async (agent: string | undefined, flags: RunFlags, command) => {
      const { runCommand } = await import("../run/run-command.ts");
      await runCommand(agent, flags, command, host);
    });
};
