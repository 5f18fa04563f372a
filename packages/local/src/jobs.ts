import { existsSync } from "node:fs";
import path from "node:path";
import { parseArgs } from "node:util";
import { verifyChains } from "@board/core/audit/verify";
import type { Context } from "@board/core/context/context";
import { isMigrated } from "@board/core/db/database";
import { countJobs, type JobRow, listJobs } from "@board/core/job/job";
import { redriveJobs } from "@board/core/job/redrive";
import { errorText, silentLog } from "@board/core/values/log";
import { createPendingWakeups } from "@board/core/context/pending-wakeups";
import { type DatabaseSettings, parseDatabaseSettings, SettingsError } from "@board/core/config/settings";
import { databaseFolder, openDatabase } from "./database.ts";
import { asInstalled } from "./command.ts";
import { FolderInUseError, lockFolder } from "./folder-lock.ts";
import { findRunningService, type RunningService } from "./running-service.ts";
import { exitWithError, printLine } from "./terminal.ts";

const HELP = `Shows background jobs (such as notifications to agents) and retries dead ones.

  npm run jobs                        numbers of jobs, and the dead jobs with their last errors
  npm run jobs -- redrive             retries all dead jobs
  npm run jobs -- redrive <id> ...    retries only these
  npm run jobs -- audit-verify        checks that no entry of the audit log was changed or removed

It uses the database of DATABASE_URL, or else the embedded one in DATA_DIR (./.data). While a service runs on that folder, it
asks the service, which shows the jobs of the local user's active organization.
The exit code is 0 on success, 1 on failure, 2 for wrong arguments.`;

const STATUSES: JobRow["status"][] = ["queued", "running", "done", "dead"];
const MAX_LISTED = 100;
const ERROR_CHARS = 160;
const UUID = /^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$/i;

/** The parts of a context that the commands need. */
type JobsContext = Pick<Context, "db" | "now" | "pendingWakeups">;

async function printStatus(ctx: JobsContext): Promise<void> {
  const counts = await countJobs(ctx);
  printLine(STATUSES.map((name) => `${name} ${counts[name] ?? 0}`).join("   "));
  const dead = await listJobs(ctx, "dead", MAX_LISTED);
  const more = (counts.dead ?? 0) - dead.length;
  printDead(dead, more > 0 ? `and ${more} older jobs` : null, ctx.now());
}

async function printStatusOf(service: RunningService): Promise<void> {
  const { jobs: dead, has_more } = await service.listDeadJobs(MAX_LISTED);
  printLine(`dead ${dead.length}${has_more ? " or more" : ""}`);
  const listed = dead.map((job) => ({ ...job, created_at: new Date(job.created_at) }));
  printDead(listed, has_more ? "and older jobs" : null, new Date());
}

type DeadJob = Pick<JobRow, "id" | "kind" | "attempts" | "max_attempts" | "created_at" | "last_error">;

function printDead(dead: readonly DeadJob[], more: string | null, now: Date): void {
  if (dead.length === 0) return;
  const rows = dead.map((job) => [job.id, job.kind, `${job.attempts}/${job.max_attempts}`, ageOf(job, now), errorOf(job)]);
  printLine();
  for (const line of toTable([["id", "kind", "attempts", "age", "last error"], ...rows])) printLine(line);
  if (more !== null) printLine(more);
  printLine("\nTo retry once the cause is fixed: npm run jobs -- redrive");
}

/** Returns whether all requested jobs were retried. */
async function redriveDeadJobs(ctx: JobsContext, ids: string[], embedded: boolean): Promise<boolean> {
  const redriven = await redriveJobs(ctx, ids.length > 0 ? ids : undefined);
  const next = embedded ? "They run when the service starts." : "The service picks them up within five minutes.";
  const notDead = ids.filter((id) => !redriven.includes(id.toLowerCase()));
  return printRedriven(redriven.length, next, ids, notDead);
}

async function redriveDeadJobsOf(service: RunningService, ids: string[]): Promise<boolean> {
  const notDead: string[] = [];
  for (const id of ids) if (!(await service.redriveJob(id))) notDead.push(id);
  const redriven = ids.length > 0 ? ids.length - notDead.length : await service.redriveJobs();
  return printRedriven(redriven, "They run now.", ids, notDead);
}

function printRedriven(redriven: number, next: string, ids: string[], notDead: string[]): boolean {
  if (redriven > 0) printLine(`Redriven: ${redriven}. ${next}`);
  else if (ids.length === 0) printLine("There are no dead jobs.");
  for (const id of notDead) process.stderr.write(`${id} is not a dead job\n`);
  return notDead.length === 0;
}

const UNITS: [string, number][] = [
  ["d", 86_400_000],
  ["h", 3_600_000],
  ["min", 60_000],
];

function ageOf(job: DeadJob, now: Date): string {
  const ms = now.getTime() - job.created_at.getTime();
  const [unit, size] = UNITS.find((unit) => ms >= unit[1]) ?? ["s", 1000];
  return `${Math.floor(ms / size)} ${unit}`;
}

function errorOf({ last_error }: DeadJob): string {
  const line = (last_error ?? "").replaceAll(/\s+/g, " ").trim();
  return line.length > ERROR_CHARS ? `${line.slice(0, ERROR_CHARS - 1)}…` : line;
}

/** Formats rows as columns that are as wide as their widest cell. */
function toTable(rows: string[][]): string[] {
  const widths = rows[0]!.map((_, column) => Math.max(...rows.map((row) => row[column]!.length)));
  return rows.map((row) =>
    row
      .map((cell, column) => cell.padEnd(widths[column]!))
      .join("   ")
      .trimEnd(),
  );
}

/** Prints the first problem of each broken chain. */
async function printVerified(ctx: JobsContext): Promise<void> {
  let chains = 0;
  let entries = 0;
  for await (const { organization_id, verified, problem } of verifyChains(ctx)) {
    chains += 1;
    entries += verified;
    if (problem === null) continue;
    process.exitCode = 1;
    process.stderr.write(`Organization ${organization_id}: ${problem}\n`);
  }
  printLine(`Verified ${entries} entries of ${chains} organizations.`);
}

/**
 * Locks the embedded database for this command, or returns the service that uses it. Does not create a missing database, because
 * then DATA_DIR is probably wrong.
 */
function lockDatabaseFolder(settings: DatabaseSettings): (() => void) | RunningService {
  if (settings.database.driver !== "pglite") return () => {};
  const folder = path.resolve(settings.data_dir);
  if (!existsSync(databaseFolder(settings))) exitWithError(`There is no database in ${folder}. Set DATA_DIR or DATABASE_URL.`);
  try {
    return lockFolder(folder);
  } catch (error) {
    if (!(error instanceof FolderInUseError)) throw error;
    const service = findRunningService(folder);
    if (service) return service;
    return exitWithError(
      `The service is running on ${folder} (${error.owner}), and this command cannot sign in to it. Use its API at /api/v1/jobs, or stop it first.`,
    );
  }
}

async function main(): Promise<void> {
  const { help, words } = readArguments();
  if (help) return void printLine(asInstalled(HELP));
  const [command = "status", ...ids] = words;
  if (command !== "status" && command !== "redrive" && command !== "audit-verify")
    exitWithError(`There is no command ${command}. Try npm run jobs -- --help`, 2);
  if (command !== "redrive" && ids.length > 0) exitWithError(`${command} takes no ids. Try npm run jobs -- --help`, 2);
  const invalidId = ids.find((id) => !UUID.test(id));
  if (invalidId) exitWithError(`${invalidId} is not the id of a job`, 2);

  const settings = parseDatabaseSettings(process.env);
  const unlock = lockDatabaseFolder(settings);
  if (typeof unlock !== "function") {
    if (command === "audit-verify") exitWithError("Stop the service first: this command reads the whole database.");
    if (command === "status") await printStatusOf(unlock);
    else if (!(await redriveDeadJobsOf(unlock, ids))) process.exitCode = 1;
    return;
  }
  const database = await openDatabase(settings, silentLog);
  try {
    if (!(await isMigrated(database.db)))
      exitWithError("The database lacks migrations of this version. Start the service once, or run its migrations.");
    const ctx: JobsContext = { db: database.db, now: () => new Date(), pendingWakeups: createPendingWakeups() };
    if (command === "status") await printStatus(ctx);
    else if (command === "audit-verify") await printVerified(ctx);
    else if (!(await redriveDeadJobs(ctx, ids, settings.database.driver === "pglite"))) process.exitCode = 1;
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
    return exitWithError(`${errorText(error)} Try npm run jobs -- --help`, 2);
  }
}

main().catch((error: unknown) =>
  exitWithError(error instanceof SettingsError ? error.message : `Reading the jobs failed: ${errorText(error)}`),
);
