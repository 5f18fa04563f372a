import { randomBytes } from "node:crypto";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import path from "node:path";
import { setTimeout as pause } from "node:timers/promises";
import { REFUSED_ORIGIN } from "@board/api/edge/cors";
import { createLog } from "@board/api/edge/log";
import { errorText, type Log } from "@board/core/values/log";
import { parseSettings, SettingsError } from "@board/core/config/settings";
import { iris, juno, milo, nova, rex } from "./demo/participants.ts";
import { runLead } from "./demo/lead.ts";
import { logMessages } from "./demo/message-log.ts";
import { runPerson } from "./demo/person.ts";
import { createDemoLog, heading, type DemoLog } from "./demo/demo-log.ts";
import { setUpBoard } from "./demo/setup.ts";
import { type DemoContext, waitUntil } from "./demo/demo-context.ts";
import { runScenario } from "./demo/scenario.ts";
import { createDemoStatistics } from "./demo/statistics.ts";
import { runWorker } from "./demo/worker.ts";
import { runWorkshop } from "./demo/workshop.ts";
import { startFakeGateway } from "./fake-gateway/server.ts";
import { withGeneratedSecrets } from "./secrets.ts";
import { startServer } from "./server.ts";
import { type SignInLines, signInLines } from "./sign-in-lines.ts";
import { answerHelp, exitWithError, onStopRequest, printLine, toStartError } from "./terminal.ts";

/** Time for the last tasks to finish after the scenario has ended. */
const DRAIN_TIMEOUT_MS = 40_000;
/** Time for the service to stop. Its data is deleted in any case. */
const STOP_TIMEOUT_MS = 1_500;

/** Starts a service on a temporary folder. From the environment it takes only variables that cannot affect other data. */
async function openService(folder: string) {
  const { PORT, HOST, LOG_LEVEL, CORS_ORIGINS, LOCAL_AUTH_TOKEN } = process.env;
  const chosen = {
    DATA_DIR: folder,
    PORT: PORT?.trim() || "0",
    HOST,
    LOG_LEVEL: LOG_LEVEL?.trim() || "error",
    CORS_ORIGINS,
    LOCAL_AUTH_TOKEN,
  };
  const settings = parseSettings(withGeneratedSecrets(chosen), "local");
  const server = await startServer(settings, withRefusedOrigins(createLog(settings.log_level)));
  const token = settings.auth.mode === "local" ? settings.auth.token : "";
  return { server, token, signIn: signInLines(server.url, settings.auth, chosen) };
}

/** Logs refused origins at every level, because a dashboard on the demo would otherwise show an empty page without a reason. */
const withRefusedOrigins = (log: Log): Log => ({
  ...log,
  warn: (event, message, fields) =>
    event === REFUSED_ORIGIN ? void printLine(`\n${message}\n`) : log.warn(event, message, fields),
});

function printIntroduction(log: DemoLog, url: string, signIn: SignInLines): void {
  log.print(`
${heading("Board coordination: a demo of the whole service in one process")}

  External systems post to webhooks. Each post is stored before the 202
  response, and wakes the lead agent ${iris.name} through the gateway. ${iris.name} reads it
  through the agent API and creates tasks, which ${milo.name} and ${juno.name} work on.
  A task is done only after ${iris.name} has reviewed it and you have approved it; the
  demo approves for you. Now and then the gateway goes down: watch what
  happens to the posts and messages during that time. On a second board, ${rex.name}
  and ${nova.name} have no host and take tasks by MCP; ${rex.name} crashes with one.

  console    ${signIn.console}
  service    ${url}
  reference  ${url}/docs
  document   ${url}/openapi.json
  token      ${signIn.token}

  Open the console to watch the board. Or explore from another terminal, with the token in TOKEN:
  curl -s ${url}/api/v1/boards -H "Authorization: Bearer $TOKEN"

  Everything is real except the gateway host and the intelligence of the agents.
  Ctrl-C stops the demo.
`);
}

const NEXT_STEPS = [
  "npm start                 starts the service with persistent data",
  "npm run gateway           starts a fake host, which prints the messages to agents",
  "packages/local/src/demo   shows how to use the API with the typed client",
  "README.md                 shows the same with curl, and explains the code",
];

const printSection = (log: DemoLog, title: string, lines: readonly string[]) =>
  log.print(`\n${heading(title)}\n\n${lines.map((line) => `  ${line}`).join("\n")}`);

/**
 * Runs all participants until the demo is aborted, or until the scenario and the workshop have ended and the last task is done.
 */
async function runDemo(demo: DemoContext, token: string, gateway_token: string, seconds: number | null): Promise<void> {
  const board = await setUpBoard(demo, token, gateway_token);
  const { lead, workers } = board;
  logMessages(demo, [lead, ...workers]);
  const participants = [runLead(demo, lead), ...workers.map((worker) => runWorker(demo, worker)), runPerson(demo, board)];
  const scenario = runScenario(demo, board, seconds).then(() =>
    waitUntil(demo, () => demo.statistics.isComplete(), DRAIN_TIMEOUT_MS),
  );
  await Promise.race([Promise.all(participants), Promise.all([scenario, runWorkshop(demo, token)])]);
}

/** DEMO_SECONDS limits the scenario, for tests and recordings. The first step always runs, and its last task is completed. */
function readDurationSeconds(): number | null {
  const text = process.env["DEMO_SECONDS"]?.trim();
  if (!text) return null;
  if (!/^\d{1,6}$/.test(text)) throw new SettingsError("DEMO_SECONDS must be a whole number of seconds");
  return Number(text);
}

const HELP = `Shows the whole service at work for some minutes: agents, people, webhooks and a fake host, on temporary data.

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
  const gateway_token = randomBytes(24).toString("hex");
  const gateway = await startFakeGateway({ token: gateway_token });
  const { server, token, signIn } = await openService(folder);
  started = true;
  const log = createDemoLog();
  const demo: DemoContext = { url: server.url, log, statistics: createDemoStatistics(), gateway, signal: shutdown.signal };
  printIntroduction(log, server.url, signIn);
  try {
    await runDemo(demo, token, gateway_token, seconds);
  } catch (error) {
    if (!demo.signal.aborted) exitWithError(`The demo failed: ${errorText(error)}`);
  }
  shutdown.abort();
  const summary = demo.statistics.summary();
  if (summary.length > 0) printSection(log, "What happened", summary);
  printSection(log, "Next steps", NEXT_STEPS);
  log.print();
  const closed = server.stop().then(() => gateway.close());
  await Promise.race([closed, pause(STOP_TIMEOUT_MS)]);
  process.exit(0);
}

main().catch((error: unknown) => exitWithError(toStartError(error, tmpdir())));
