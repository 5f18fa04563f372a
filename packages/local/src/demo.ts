import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import path from "node:path";
import { setTimeout as pause } from "node:timers/promises";
import { styleText } from "node:util";
import { REFUSED_ORIGIN } from "@board/api/edge/cors";
import { createLog } from "@board/api/edge/log";
import { errorText, type Log } from "@board/core/values/log";
import { parseSettings, SettingsError } from "@board/core/config/settings";
import { createDemo, type Demo } from "./demo/demo.ts";
import { runLead } from "./demo/lead.ts";
import { allowPermissions, createTaskOfCode, runRunner } from "./demo/runner.ts";
import { createTaskOfPerson, runPerson, runScenario } from "./demo/scenario.ts";
import { type DemoBoard, setUpBoard } from "./demo/set-up.ts";
import { createTaskWithoutEnd, runSpender } from "./demo/spender.ts";
import { isComplete, summarize } from "./demo/summary.ts";
import { runWorker } from "./demo/worker.ts";
import { withGeneratedSecrets } from "./secrets.ts";
import { startServer } from "./server.ts";
import { signInLines } from "./sign-in-lines.ts";
import { answerHelp, exitWithError, onStopRequest, printLine, toStartError } from "./terminal.ts";

/** Time for the service to stop. Its data is deleted in any case. */
const STOP_TIMEOUT_MS = 1_500;
const CHECK_MS = 500;

/** Starts a service on a temporary folder. From the environment it takes only variables that cannot affect other data. */
async function openService(folder: string) {
  const { PORT, HOST, LOG_LEVEL, CORS_ORIGINS, LOCAL_AUTH_TOKEN } = process.env;
  const level = LOG_LEVEL?.trim() || "error";
  // Only one person uses the data before it is deleted, and a shell needs a token, so accounts are off.
  const chosen = {
    AUTH_MODE: "local",
    DATA_DIR: folder,
    PORT: PORT?.trim() || "0",
    HOST,
    LOG_LEVEL: level,
    CORS_ORIGINS,
    LOCAL_AUTH_TOKEN,
  };
  const settings = parseSettings(withGeneratedSecrets(chosen), "local");
  const server = await startServer(settings, withRefusedOrigins(createLog(settings.log_level)));
  const token = settings.auth.mode === "local" ? settings.auth.token : "";
  return { server, token, signIn: signInLines(server.url, settings, chosen, server.first_link) };
}

/** Logs refused origins at every level, because a dashboard on the demo would otherwise show an empty page without a reason. */
const withRefusedOrigins = (log: Log): Log => ({
  ...log,
  warn: (event, message, fields) =>
    event === REFUSED_ORIGIN ? void printLine(`\n${message}\n`) : log.warn(event, message, fields),
});

const printSection = (title: string, text: string) => printLine(`\n${styleText("bold", title)}\n\n${text}\n`);

const introduction = (url: string, signIn: ReturnType<typeof signInLines>) => `\
  External systems post to webhooks. Each post is stored before the 202
  response, and waits in the inbox of the lead agent Iris. Iris turns it into
  tasks, which Milo and Juno take over MCP, each under a lease. A task is done only
  after Iris has reviewed it and you have approved it; the demo approves for
  you. Iris is offline for a while: watch what happens to the posts. Rex crashes
  with a task, which another worker takes when the lease of Rex has ended. Nova
  is a coding agent that "board run" starts in a repository: its card shows each
  step, it waits for your click before it runs a command, and hands in a branch.
  Otto never finishes its task, and reports the tokens that it uses: its budget
  stops it, and another worker takes the task.

  console    ${signIn.console}
  service    ${url}
  reference  ${url}/docs
  document   ${url}/openapi.json
  token      ${signIn.token}

  Open the console to watch the board. Or explore from another terminal, with the token in TOKEN:
  curl -s ${url}/api/v1/boards -H "Authorization: Bearer $TOKEN"

  Everything is real except the intelligence of the agents.
  Ctrl-C stops the demo.`;

const NEXT_STEPS = `\
  npm start                 starts the service with persistent data
  packages/local/src/demo   shows how to use the API with the typed client and by MCP
  examples                  has short programs to copy: agents, webhooks, mirrors
  README.md                 shows how to connect an agent`;

/** Runs all participants until the demo is aborted, or until the scenario has ended and all tasks are done. */
async function runDemo(demo: Demo, board: DemoBoard, folder: string, seconds: number | null): Promise<void> {
  const { Milo, Juno, Rex } = board.agents;
  await createTaskOfPerson(demo, board);
  await createTaskOfCode(demo, board);
  await createTaskWithoutEnd(demo, board);
  const runner = [runRunner(demo, board, folder), allowPermissions(demo, board)];
  await runWorker(demo, "Rex", Rex.token, true);
  const workers = [runWorker(demo, "Milo", Milo.token), runWorker(demo, "Juno", Juno.token)];
  const scenario = runScenario(demo, board, seconds).then(async () => {
    while (!(await isComplete(demo, board.board_id))) await demo.wait(CHECK_MS);
  });
  // Otto stops when its budget is spent, which must not end the demo. It therefore shares a promise with the person, who continues.
  const people = Promise.all([runPerson(demo, board), runSpender(demo, board)]);
  await Promise.race([scenario, runLead(demo, board), people, ...workers, ...runner]);
}

/**
 * Reads DEMO_SECONDS, which limits the scenario in tests and recordings. The first step always runs, and all its tasks are
 * completed.
 */
function readDurationSeconds(): number | null {
  const text = process.env["DEMO_SECONDS"]?.trim();
  if (!text) return null;
  if (!/^\d{1,6}$/.test(text)) throw new SettingsError("DEMO_SECONDS must be a whole number of seconds");
  return Number(text);
}

const HELP = `Shows the whole service at work for some minutes: agents, people and webhooks, on temporary data.

  npm run demo

  PORT              the port; by default any free one
  HOST              the address
  CORS_ORIGINS      origins of a dashboard that may connect
  LOCAL_AUTH_TOKEN  the token to sign in with; by default one is generated and shown in a terminal
  LOG_LEVEL         the lowest level that is logged
  DEMO_SECONDS      ends the demo after this time

Ctrl-C stops the demo and deletes its data.`;

async function main(): Promise<void> {
  answerHelp("run demo", HELP);
  const seconds = readDurationSeconds();
  const folder = mkdtempSync(path.join(tmpdir(), "board-demo-"));
  // Retries, because a database that is still starting may write files while its folder is being deleted.
  process.on("exit", () => rmSync(folder, { recursive: true, force: true, maxRetries: 10, retryDelay: 20 }));
  // Ends the demo when the program that reads its output has ended.
  process.stdout.on("error", () => process.exit(0));
  const shutdown = new AbortController();
  let started = false;
  onStopRequest(() => (started ? shutdown.abort() : process.exit(0)));

  printLine("Starting on a fresh database, which takes a few seconds ...");
  const { server, token, signIn } = await openService(folder);
  started = true;
  printSection("Board coordination: a demo of the whole service in one process", introduction(server.url, signIn));
  const demo = createDemo(server.url, token, shutdown.signal);
  // An error after the demo was stopped is no failure, because stopping the demo aborts what its participants are doing.
  const fail = (error: unknown) => void (shutdown.signal.aborted || exitWithError(`The demo failed: ${errorText(error)}`));
  const board = await setUpBoard(demo).catch(fail);
  if (board) {
    await runDemo(demo, board, folder, seconds).catch(fail);
    shutdown.abort();
    printSection("What happened", await summarize(demo, token, board.board_id));
  }
  printSection("Next steps", NEXT_STEPS);
  await Promise.race([server.stop(), pause(STOP_TIMEOUT_MS)]);
  process.exit(0);
}

main().catch((error: unknown) => exitWithError(toStartError(error, tmpdir())));
