import { Command, CommanderError } from "commander";
import type { Host } from "./cli.ts";
import { addAgent } from "./commands/agent.ts";
import { addApprovals } from "./commands/approvals.ts";
import { addArtifacts } from "./commands/artifacts.ts";
import { addBoards } from "./commands/boards.ts";
import { addCompletion } from "./commands/completion.ts";
import { addDoctor } from "./commands/doctor.ts";
import { addJobs } from "./commands/jobs.ts";
import { addKeys } from "./commands/keys.ts";
import { addLogin } from "./commands/login.ts";
import { addMemory } from "./commands/memory.ts";
import { addFollowing } from "./commands/people.ts";
import { addRun } from "./commands/run.ts";
import { addRuns } from "./commands/runs.ts";
import { addTasks } from "./commands/tasks.ts";
import { addUsage } from "./commands/usage.ts";
import { addWatch } from "./commands/watch.ts";
import { addWebhook } from "./commands/webhook.ts";
import { addWork } from "./commands/work.ts";
import { describeError, EXIT_FAILURE, exitCodeOf } from "./failure.ts";
import { PROGRAM, PUBLISHED_AS } from "./program.ts";
import { toSafeJson } from "./text.ts";

const SERVICE_HELP = `
Without arguments, "${PROGRAM}" starts the service in this folder and prints the link to its page.
  start --help                    lists its settings
  service <doctor|jobs|migrate>   checks the service, shows its background jobs, or updates its database
`;

const AFTER_HELP = `${PUBLISHED_AS === null ? "" : SERVICE_HELP}
Settings: BOARD_URL, BOARD_TOKEN or BOARD_TOKEN_FILE, and BOARD (a board's id or name) come before what "${PROGRAM} login" stored.
Exit codes: 0 success, 1 failure, 2 refused by the service.`;

export function createProgram(host: Host): Command {
  const program = new Command("board")
    .description("Work with boards from a shell, as a person or as an agent.")
    .version(VERSION)
    .option("--url <address>", "address of the service")
    .option("-b, --board <board>", "id, slug or name of the board")
    .option("--json", "print JSON, also for errors")
    .addHelpText("after", AFTER_HELP)
    .exitOverride();
  for (const add of [
    addLogin,
    addBoards,
    addTasks,
    addWork,
    addRun,
    addRuns,
    addArtifacts,
    addApprovals,
    addFollowing,
    addMemory,
    addUsage,
    addWatch,
    addWebhook,
    addJobs,
    addKeys,
    addAgent,
    addDoctor,
    addCompletion,
  ])
    add(program, host);
  return program;
}

/** Replaced by the version when the command line is built. */
declare const VERSION: string;

async function main(): Promise<void> {
  const { stdin, stdout, argv } = process;
  // A reader such as `head` may close the pipe early.
  stdout.on("error", (error: NodeJS.ErrnoException) => process.exit(error.code === "EPIPE" ? 0 : EXIT_FAILURE));
  try {
    await createProgram({ environment: process.env, stdin, stdout }).parseAsync(argv);
  } catch (error) {
    // Commander has already printed its output: help, the version, or the message about a wrong argument.
    if (error instanceof CommanderError) return void (process.exitCode = error.exitCode);
    process.exitCode = exitCodeOf(error);
    const { message, ...facts } = describeError(error);
    if (argv.includes("--json")) process.stderr.write(`${toSafeJson({ error: { message, ...facts } })}\n`);
    else process.stderr.write(`${message}${facts.request_id ? ` (${facts.status}, request ${facts.request_id})` : ""}\n`);
  }
}

await main();
