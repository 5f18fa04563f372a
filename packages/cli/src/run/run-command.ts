import { readFileSync } from "node:fs";
import path from "node:path";
import { type AgentCommand, findProgram, splitWords, toCustomCommand, toKnownCommand } from "@board/runner/agent-command";
import { createBoardService } from "@board/runner/board-service";
import { KNOWN_AGENTS } from "@board/runner/known-agents";
import { parseDuration, type RunnerOptions } from "@board/runner/options";
import { parsePolicy, type Policy } from "@board/runner/policy";
import { runTasks } from "@board/runner/runner";
import { removeServiceUnit, toServiceUnit, writeServiceUnit } from "@board/runner/service-unit";
import { runsFolder } from "@board/runner/state-folder";
import { findRepository } from "@board/runner/worktree";
import type { Command } from "commander";
import { type Host, type Run, startRun } from "../cli.ts";
import type { RunFlags } from "../commands/run.ts";
import { UsageError } from "../failure.ts";
import { cleanWorktrees } from "./clean.ts";
import { createLiveView } from "./live-view.ts";
import { findAgent } from "./runner-agent.ts";
import { listenForSignals } from "./signals.ts";

/** Runs `board run`. */
export async function runCommand(agent: string | undefined, flags: RunFlags, command: Command, host: Host): Promise<void> {
  const run = startRun(command, host);
  if (flags.list) return listAgents(run);
  const folder = path.resolve(flags.repo ?? ".");
  if (flags.clean) return cleanWorktrees(run, folder);
  const agentCommand = asUsage(() => chooseCommand(agent, flags, run));
  if (flags.service) return serviceUnit(run, flags, agentCommand);
  const session = await run.openSession();
  const { runner, name } = await findAgent(run, session, flags.name, agentCommand.tool);
  const options = await toOptions(flags, agentCommand, folder, runner.board_id);
  const view = createLiveView(run, name);
  const { stopping, killing, stopListening } = listenForSignals(() =>
    view.note("Stopping: the tasks are given back. Press Ctrl-C again to stop at once."),
  );
  view.note(`${name} waits for tasks of ${session.url}.`);
  const service = createBoardService(session.url, runner.token);
  const state = runsFolder(host.environment);
  try {
    await runTasks(
      service,
      runner.agent_id,
      state,
      options,
      { ...view, environment: host.environment, verbose: flags.verbose === true },
      { stopping, killing },
    );
  } finally {
    stopListening();
    view.close();
  }
}

function asUsage<T>(parse: () => T): T {
  try {
    return parse();
  } catch (error) {
    throw new UsageError((error as Error).message);
  }
}

function chooseCommand(agent: string | undefined, { exec }: RunFlags, { environment }: Run): AgentCommand {
  const dashes = process.argv.indexOf("--");
  if (dashes >= 0) return toCustomCommand("acp", process.argv.slice(dashes + 1), environment);
  if (exec !== undefined) return toCustomCommand("exec", splitWords(exec), environment);
  if (agent === undefined)
    throw new Error('Name the agent, such as "board run claude". "board run --list" shows the known ones.');
  return toKnownCommand(agent, environment);
}

async function toOptions(
  flags: RunFlags,
  command: AgentCommand,
  folder: string,
  board_id: string | null,
): Promise<RunnerOptions> {
  const repository = await findRepository(folder);
  if (flags.worktree && !repository) throw new UsageError(`${folder} is not in a git repository, so there are no worktrees.`);
  if (flags.parallel > 1 && (flags.inPlace || !repository))
    throw new UsageError("Several tasks at once need a worktree each: run in a git repository, without --in-place.");
  return asUsage(() => ({
    command,
    board_id,
    tags: flags.tag ?? [],
    parallel: flags.parallel,
    folder,
    in_place: flags.inPlace === true,
    base: flags.base ?? null,
    opens_pull_request: flags.pr === true,
    policy: readPolicy(flags.policy, repository?.root ?? folder),
    lease_seconds: flags.lease,
    stall_ms: parseDuration(flags.stall),
    ask_timeout_ms: parseDuration(flags.askTimeout),
    max_tasks: flags.once ? 1 : (flags.maxTasks ?? null),
    idle_ms: flags.idle === undefined ? null : parseDuration(flags.idle),
    max_cost_usd: flags.maxCost ?? null,
  }));
}

/** Reads the policy file that the person named, or the policy file of the repository. */
function readPolicy(named: string | undefined, root: string): Policy | null {
  const file = path.resolve(named ?? path.join(root, ".board/policy.json"));
  let text: string;
  try {
    text = readFileSync(file, "utf8");
  } catch (error) {
    if (named === undefined && (error as NodeJS.ErrnoException).code === "ENOENT") return null;
    throw new Error(`The policy cannot be read: ${(error as Error).message}`, { cause: error });
  }
  return parsePolicy(text, file);
}

function listAgents({ output, environment }: Run): void {
  const listed = KNOWN_AGENTS.map(({ name, title, command, args, package: pack, version }) => {
    const found = findProgram(command, environment);
    return {
      name,
      title,
      starts: [found ?? `npx ${pack}@${version}`, ...args].join(" "),
      package: pack,
      version,
      is_installed: found !== null,
    };
  });
  output.result(listed, () =>
    output.table(
      listed,
      [
        { title: "name", value: ({ name }) => name },
        { title: "agent", value: ({ title }) => title },
        { title: "starts", value: ({ starts }) => starts },
      ],
      "There is no known agent.",
    ),
  );
}

function serviceUnit({ output, environment }: Run, flags: RunFlags, { tool }: AgentCommand): void {
  // Paths among the arguments are relative to the folder in which the person wrote them.
  const program = path.resolve(process.argv[1] ?? "board");
  const args = process.argv.slice(2).filter((word) => word !== "--service" && word !== "--remove");
  const unit = asUsage(() =>
    toServiceUnit({
      name: flags.name ?? tool,
      command: [process.execPath, program, ...args],
      folder: process.cwd(),
      environment,
    }),
  );
  if (flags.remove) {
    const was_there = removeServiceUnit(unit);
    return output.result({ file: unit.file, was_there }, () =>
      output.line(was_there ? `${unit.file} is removed. Stop it with: ${unit.stop}` : `There is no ${unit.file}.`),
    );
  }
  writeServiceUnit(unit);
  output.result({ file: unit.file, start: unit.start, stop: unit.stop }, () => {
    output.line(`${unit.file} is written. It uses the stored sign-in, and holds no token.`);
    output.line(`Start it with:  ${unit.start}`);
    output.line(`Stop it with:   ${unit.stop}`);
  });
}
