import { setTimeout as pause } from "node:timers/promises";
import { createLog } from "@board/api/edge/log";
import { errorText } from "@board/core/values/log";
import { listMisspelt } from "@board/core/config/misspelt-settings";
import { describeRemoved } from "@board/core/config/removed-settings";
import { parseSettings } from "@board/core/config/settings";
import { asInstalled, isPublished } from "./command.ts";
import { openBrowser } from "./open-browser.ts";
import { findMode } from "./folder-mode.ts";
import { dataFolder, storeOwnerLink, withGeneratedSecrets } from "./secrets.ts";
import { signInLines, toOwnerLink } from "./sign-in-lines.ts";
import { answerHelp, exitWithError, onStopRequest, printLine, toStartError } from "./terminal.ts";

/** Time limit for stopping the service. It is longer than the grace periods of all parts that are stopped. */
const STOP_LIMIT_MS = 20_000;
/** SIGTERM arrives twice in quick succession when the whole process group gets it and the launcher also passes it on. */
const SAME_REQUEST_MS = 1_000;

const HELP = `Starts the service. Without settings it uses an embedded database in ./.data, at http://localhost:8000.

  npm start

  PORT          another port; 0 chooses a free one
  HOST          another address; 0.0.0.0 for all of this machine
  DATA_DIR      another folder for the embedded database and the generated secrets
  DATABASE_URL  a PostgreSQL database instead of the embedded one
  AUTH_MODE     how people sign in, by default with accounts of this service; local means one shared token

The settings come from the environment; docs/settings.md lists them all. npm run doctor checks them. Ctrl-C stops the service.`;

async function main(): Promise<void> {
  answerHelp("start", HELP);
  for (const { name, meant } of listMisspelt(process.env))
    process.stderr.write(`${name} is not a setting. Did you mean ${meant}?\n`);
  for (const line of describeRemoved(process.env)) process.stderr.write(`${line}\n`);
  const started = performance.now();
  const isShared = findMode(process.env, dataFolder(process.env)).by === "old folder";
  const settings = parseSettings(withGeneratedSecrets(process.env), "local");
  // Loading the service takes a second, so the settings are checked first.
  const { startServer } = await import("./server.ts");
  const starting = startServer(settings, createLog(settings.log_level), (url, isFirst) =>
    printLine(`Starting at ${url} ${isFirst ? "with a new database " : ""}…`),
  );
  let stopping: Promise<void> | undefined;
  let asked_at: number | undefined;
  const hurry = new AbortController();
  onStopRequest((request) => {
    if (request === "SIGTERM" && asked_at !== undefined && performance.now() - asked_at < SAME_REQUEST_MS) return;
    // With Ctrl-C or after a second request, the service does not give balancers time to notice that it stops.
    const drain_ms = stopping || request !== "SIGTERM" ? 0 : settings.drain_seconds * 1_000;
    if (drain_ms === 0) hurry.abort();
    asked_at ??= performance.now();
    setTimeout(() => exitWithError("Stopping took too long. Accepted requests are stored."), drain_ms + STOP_LIMIT_MS).unref();
    // A start in progress is completed before the service stops, because aborting it would leave a database that must recover.
    stopping ??= starting
      .then(async (server) => {
        server.drain();
        await pause(drain_ms, undefined, { signal: hurry.signal }).catch(() => {});
        await server.stop();
      })
      .then(
        () => process.exit(0),
        (error: unknown) => exitWithError(`Stopping failed: ${errorText(error)}`),
      );
  });
  const server = await starting;
  if (stopping) return;
  printLine(`Board coordination is ready at ${server.url} (${((performance.now() - started) / 1000).toFixed(1)} s)`);
  const { first_link } = server;
  if (settings.auth.mode === "accounts")
    storeOwnerLink(process.env, first_link === null ? null : toOwnerLink(settings, server.url, first_link));
  const signIn = signInLines(server.url, settings, process.env, first_link);
  printLine(`  console    ${signIn.console}`);
  if (signIn.link !== null) printLine(`  link       ${signIn.link}`);
  printLine(`  reference  ${server.url}/docs`);
  if (signIn.token !== null) printLine(`  token      ${signIn.token}`);
  if (signIn.shell !== null) printLine(`  shell      ${signIn.shell}`);
  if (isShared) printLine(asInstalled("  people     share this token; npm run accounts:migrate gives each an account"));
  if (isPublished && process.stdout.isTTY && signIn.console.includes("#")) openBrowser(signIn.console, dataFolder(process.env));
  printLine(`  data       ${settings.database.driver === "pglite" ? settings.data_dir : settings.database.driver}`);
}

main().catch((error: unknown) => exitWithError(toStartError(error, dataFolder(process.env))));
