import { parseArgs } from "node:util";
import { errorText } from "@board/core/values/log";
import { asInstalled } from "./command.ts";
import { dataFolder } from "./secrets.ts";
import { exitWithError, printLine, toStartError } from "./terminal.ts";

const HELP = `Gives each person of a service an account, instead of one shared token. Nothing is lost, and it can be undone.

  npm run accounts:migrate            from the next start on, people have accounts
  npm run accounts:migrate -- --back  from the next start on, the shared token signs in again

The shared user of the token becomes the first owner. Stop the service first. The choice is stored in DATA_DIR. AUTH_MODE takes
precedence over it, so set AUTH_MODE=accounts instead for processes that share a database by DATABASE_URL.`;

async function main(): Promise<void> {
  const { help, back } = readArguments();
  if (help) return void printLine(asInstalled(HELP));
  const { migrateAccounts } = await import("./accounts-migration.ts");
  for (const line of await migrateAccounts(process.env, back ? "local" : "accounts")) printLine(asInstalled(line));
}

function readArguments(): { help?: boolean; back?: boolean } {
  try {
    return parseArgs({ options: { help: { type: "boolean", short: "h" }, back: { type: "boolean" } } }).values;
  } catch (error) {
    return exitWithError(`${errorText(error)} Try npm run accounts:migrate -- --help`, 2);
  }
}

main().catch((error: unknown) => exitWithError(toStartError(error, dataFolder(process.env))));
