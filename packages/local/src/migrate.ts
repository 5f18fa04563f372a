import { createLog } from "@board/api/edge/log";
import { parseDatabaseSettings } from "@board/core/config/settings";
import { dataFolder } from "./secrets.ts";
import { answerHelp, exitWithError, printLine, toStartError } from "./terminal.ts";

const HELP = `Brings the schema of a PostgreSQL database to this version, and ends. Every start does the same. Run this as a step before
an update, so that no process of the new version has to wait. It can be repeated, and several may run at once.

  npm run migrate

It uses the database in DATABASE_URL. The user needs the right to create tables, and the connection must not use a pooler.`;

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
