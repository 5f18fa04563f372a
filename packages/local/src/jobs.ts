import { existsSync } from "node:fs";
import path from "node:path";
import { parseArgs } from "node:util";
import type { Context } from "@board/core/context";
import { isMigrated } from "@board/core/db/database";
import { countJobs, type JobRow, listJobs, redriveJobs } from "@board/core/job/job";
import { errorText, silent } from "@board/core/log";
import { createOutbox } from "@board/core/outbox";
import { type DatabaseSettings, parseDatabaseSettings, SettingsError } from "@board/core/settings";
import { databaseFolder, openDatabase } from "./database.ts";
import { FolderInUse, lockFolder } from "./lock.ts";
import { fail, say } from "./terminal.ts";

const HELP = `Shows background jobs (notifications of agents and the like) and gives dead ones a new life.

  npm run jobs                        how many there are, and the dead ones with their last error
  npm run jobs -- redrive             gives all dead jobs their attempts again
  npm run jobs -- redrive <id> ...    only these

It reads the database of DATABASE_URL, or else the embedded one of DATA_DIR (./.data), whose service must be stopped.
It ends with 0, with 1 when it could not do what it was told, with 2 when it did not understand.`;

const STATUSES: JobRow["status"][] = ["queued", "running", "done", "dead"];
const SHOWN = 100;
const ERROR_CHARS = 160;
const ID = /^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$/i;

/** What jobs need of a context: no gateway, no secret and no person. */
type Jobs = Pick<Context, "db" | "now" | "outbox">;

async function status(ctx: Jobs): Promise<void> {
  const counts = await countJobs(ctx);
  say(STATUSES.map((name) => `${name} ${counts[name] ?? 0}`).join("   "));
  const dead = await listJobs(ctx, "dead", SHOWN);
  if (dead.length === 0) return;
  const rows = dead.map((job) => [job.id, job.kind, `${job.attempts}/${job.max_attempts}`, ageOf(job, ctx.now()), errorOf(job)]);
  say();
  for (const line of toTable([["id", "kind", "attempts", "age", "last error"], ...rows])) say(line);
  const more = (counts.dead ?? 0) - dead.length;
  if (more > 0) say(`and ${more} older ones`);
  say("\nOnce the cause is mended: npm run jobs -- redrive");
}

/** Returns whether everything asked for was done. */
async function redrive(ctx: Jobs, ids: string[], embedded: boolean): Promise<boolean> {
  const revived = await redriveJobs(ctx, ids.length > 0 ? ids : undefined);
  const next = embedded ? "They run when the service starts." : "The service takes them up within five minutes.";
  if (revived.length > 0) say(`Redriven: ${revived.length}. ${next}`);
  else if (ids.length === 0) say("No job is dead.");
  const missed = ids.filter((id) => !revived.includes(id.toLowerCase()));
  for (const id of missed) process.stderr.write(`${id} is not a dead job\n`);
  return missed.length === 0;
}

const UNITS: [string, number][] = [
  ["d", 86_400_000],
  ["h", 3_600_000],
  ["min", 60_000],
];

function ageOf(job: JobRow, now: Date): string {
  const ms = now.getTime() - job.created_at.getTime();
  const [unit, size] = UNITS.find((one) => ms >= one[1]) ?? ["s", 1000];
  return `${Math.floor(ms / size)} ${unit}`;
}

function errorOf({ last_error }: JobRow): string {
  const line = (last_error ?? "").replaceAll(/\s+/g, " ").trim();
  return line.length > ERROR_CHARS ? `${line.slice(0, ERROR_CHARS - 1)}…` : line;
}

/** Columns as wide as their widest cell, the last one open. */
function toTable(rows: string[][]): string[] {
  const widths = rows[0]!.map((_, column) => Math.max(...rows.map((row) => row[column]!.length)));
  return rows.map((row) =>
    row
      .map((cell, column) => cell.padEnd(widths[column]!))
      .join("   ")
      .trimEnd(),
  );
}

/** Takes the embedded database for this command. One that is not there is not made: the folder is most likely a wrong one. */
function takeFolder(settings: DatabaseSettings): () => void {
  if (settings.database.driver !== "pglite") return () => {};
  const folder = path.resolve(settings.data_dir);
  if (!existsSync(databaseFolder(settings))) fail(`There is no database in ${folder}. Set DATA_DIR or DATABASE_URL.`);
  try {
    return lockFolder(folder);
  } catch (error) {
    if (!(error instanceof FolderInUse)) throw error;
    fail(
      `The service is running on ${folder} (${error.owner}). Stop it first: an embedded database has one user. One of DATABASE_URL can be looked at any time.`,
    );
  }
}

async function main(): Promise<void> {
  const { help, words } = readArguments();
  if (help) return void say(HELP);
  const [command = "status", ...ids] = words;
  if (command !== "status" && command !== "redrive") fail(`There is no command ${command}. Try npm run jobs -- --help`, 2);
  if (command === "status" && ids.length > 0) fail("status takes no ids. Try npm run jobs -- --help", 2);
  const odd = ids.find((id) => !ID.test(id));
  if (odd) fail(`${odd} is not the id of a job`, 2);

  const settings = parseDatabaseSettings(process.env);
  const unlock = takeFolder(settings);
  const database = await openDatabase(settings, silent);
  try {
    if (!(await isMigrated(database.db)))
      fail("The database is not of this version. Start the service once, or run its migrations.");
    const ctx: Jobs = { db: database.db, now: () => new Date(), outbox: createOutbox() };
    if (command === "status") await status(ctx);
    else if (!(await redrive(ctx, ids, settings.database.driver === "pglite"))) process.exitCode = 1;
  } finally {
    await database.close();
    unlock();
  }
}

function readArguments(): { help: boolean; words: string[] } {
  try {
    const { values, positionals } = parseArgs({ options: { help: { type: "boolean", short: "h" } }, allowPositionals: true });
    return { help: values.help ?? false, words: positionals };
  } catch (error) {
    return fail(`${errorText(error)} Try npm run jobs -- --help`, 2);
  }
}

main().catch((error: unknown) =>
  fail(error instanceof SettingsError ? error.message : `The jobs cannot be read: ${errorText(error)}`),
);
