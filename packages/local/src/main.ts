import { createLog } from "@board/api/log";
import { errorText } from "@board/core/log";
import { parseSettings } from "@board/core/settings";
import { dataFolder, withGeneratedSecrets } from "./secrets.ts";
import { exitWithError, printLine, toStartError } from "./terminal.ts";

/** Longer than the grace time of everything that is stopped. */
const STOP_LIMIT_MS = 20_000;

async function main(): Promise<void> {
  const started = performance.now();
  const settings = parseSettings(withGeneratedSecrets(process.env), "local");
  // Loading the service takes a second, so the settings are checked first.
  const { startServer } = await import("./server.ts");
  const starting = startServer(settings, createLog(settings.log_level));
  let stopping: Promise<void> | undefined;
  for (const signal of ["SIGINT", "SIGTERM"] as const)
    process.on(signal, () => {
      setTimeout(() => exitWithError("Stopping took too long. Accepted requests are stored."), STOP_LIMIT_MS).unref();
      // A start in progress is completed before stopping: aborting it would leave a database that must recover.
      stopping ??= starting
        .then((server) => server.stop())
        .then(
          () => process.exit(0),
          (error: unknown) => exitWithError(`Stopping failed: ${errorText(error)}`),
        );
    });
  const server = await starting;
  if (stopping) return;
  printLine(`Board coordination is ready at ${server.url} (${((performance.now() - started) / 1000).toFixed(1)} s)`);
  printLine(`  reference  ${server.url}/docs`);
  if (settings.auth.mode === "local") printLine(`  token      ${tokenToPrint(settings.auth.token)}`);
  printLine(`  data       ${settings.database.driver === "pglite" ? settings.data_dir : settings.database.driver}`);
}

/** Output often ends up in logs, so only a token that the service generated, which nobody knows otherwise, is printed. */
function tokenToPrint(token: string): string {
  return process.env["LOCAL_AUTH_TOKEN"]?.trim() ? "as set in LOCAL_AUTH_TOKEN" : token;
}

main().catch((error: unknown) => exitWithError(toStartError(error, dataFolder(process.env))));
