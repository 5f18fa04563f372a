import { createLog } from "@board/api/log";
import { errorText } from "@board/core/log";
import { parseSettings, SettingsError } from "@board/core/settings";
import { FolderInUse } from "./lock.ts";
import { withSecrets } from "./secrets.ts";
import { startServer } from "./server.ts";

const say = (line: string) => process.stdout.write(`${line}\n`);

function fail(message: string): never {
  process.stderr.write(`${message}\n`);
  process.exit(1);
}

async function main(): Promise<void> {
  const started = performance.now();
  const settings = parseSettings(withSecrets(process.env), "local");
  const log = createLog(settings.log_level);
  const server = await startServer(settings, log);
  let stopping: Promise<void> | undefined;
  for (const signal of ["SIGINT", "SIGTERM"] as const)
    process.on(signal, () => {
      stopping ??= server.stop().then(
        () => process.exit(0),
        (error: unknown) => fail(`Stopping failed: ${errorText(error)}`),
      );
    });
  say(`Board coordination is ready at ${server.url} (${((performance.now() - started) / 1000).toFixed(1)} s)`);
  say(`  reference  ${server.url}/docs`);
  if (settings.auth.mode === "local") say(`  token      ${settings.auth.token}`);
  say(`  data       ${settings.database.driver === "pglite" ? settings.data_dir : settings.database.driver}`);
}

main().catch((error: unknown) => {
  if (error instanceof SettingsError || error instanceof FolderInUse) fail(error.message);
  if ((error as NodeJS.ErrnoException).code === "EADDRINUSE") fail("The port is taken by another process; set PORT to a free one.");
  fail(`The service cannot start: ${errorText(error)}`);
});
