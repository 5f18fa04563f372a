import { createLog } from "@board/api/edge/log";
import { parseDatabaseSettings } from "@board/core/config/settings";
import { dataFolder } from "./secrets.ts";
import { answerHelp, exitWithError, printLine, toStartError } from "./terminal.ts";

const HELP = `Brings the schema of a PostgreSQL database to this version, and ends. A start does the same; this is for a step before an
update, so that no process of the new version waits for it. It can be repeated, and several may run at once.

  npm run migrate

The database is the one of DATABASE_URL. It needs the right to create tables, and no pooler in between.`;

async function main(): Promise<void> {
  answerHelp("run migrate", HELP);
  const settings = parseDatabaseSettings(process.env);
  if (settings.database.driver === "pglite")
    exitWithError("Set DATABASE_URL. The embedded database is migrated by every start.", 2);
  const { openDatabase } = await import("./database.ts");
  const database = await openDatabase(settings, createLog("warn"));
  try {
    await database.migrate();
  } finally {
    await database.close();
  }
  printLine("The schema of the database is the one of this version.");
}

main().catch((error: unknown) => exitWithError(toStartError(error, dataFolder(process.env))));
