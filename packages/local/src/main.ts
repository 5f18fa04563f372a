import { createLog } from "@board/api/log";
import { errorText } from "@board/core/log";
import { parseSettings } from "@board/core/settings";
import { withSecrets } from "./secrets.ts";
import { fail, say, whyNotStarted } from "./terminal.ts";

async function main(): Promise<void> {
  const started = performance.now();
  const settings = parseSettings(withSecrets(process.env), "local");
  // Loading all of the service takes a second, which whoever has to mend a setting need not wait for.
  const { startServer } = await import("./server.ts");
  const starting = startServer(settings, createLog(settings.log_level));
  let stopping: Promise<void> | undefined;
  for (const signal of ["SIGINT", "SIGTERM"] as const)
    process.on(signal, () => {
      // A start under way is let finish: cut short, it would leave its database to recover.
      stopping ??= starting
        .then((server) => server.stop())
        .then(
          () => process.exit(0),
          (error: unknown) => fail(`Stopping failed: ${errorText(error)}`),
        );
    });
  const server = await starting;
  if (stopping) return;
  say(`Board coordination is ready at ${server.url} (${((performance.now() - started) / 1000).toFixed(1)} s)`);
  say(`  reference  ${server.url}/docs`);
  if (settings.auth.mode === "local") say(`  token      ${settings.auth.token}`);
  say(`  data       ${settings.database.driver === "pglite" ? settings.data_dir : settings.database.driver}`);
}

main().catch((error: unknown) => fail(whyNotStarted(error)));
