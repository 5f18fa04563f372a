import { existsSync } from "node:fs";
import path from "node:path";
import type { Db } from "@board/core/context/db";
import { type Database, readSchemaState, type SchemaState } from "@board/core/db/database";
import { readServerInfo, type ServerInfo } from "@board/core/db/server-info";
import { OVERDUE_SECONDS, readJobAge } from "@board/core/job/queue-age";
import { countJobs } from "@board/core/job/job";
import { errorText, silentLog } from "@board/core/values/log";
import type { DatabaseSettings } from "@board/core/config/settings";
import { databaseFolder, openDatabase } from "../database.ts";
import { FolderInUseError, lockFolder } from "../folder-lock.ts";
import { type Finding, checkClock, ok, warning, wrong } from "./finding.ts";
import type { Platform } from "./settings.ts";

const CHECK = "database";

interface OpenedDatabase {
  database: Database;
  close(): Promise<void>;
}

/** Opens the database, or returns the reason why it cannot be checked. Does not create a missing database. */
export async function openForInspection(settings: DatabaseSettings): Promise<OpenedDatabase | Finding> {
  const { driver } = settings.database;
  let unlock = () => {};
  if (driver === "pglite") {
    const folder = path.resolve(settings.data_dir);
    if (!existsSync(databaseFolder(settings)))
      return warning(CHECK, `there is no database in ${folder} yet`, "Start the service once, or set DATA_DIR or DATABASE_URL.");
    try {
      unlock = lockFolder(folder);
    } catch (error) {
      if (!(error instanceof FolderInUseError)) throw error;
      const found = `the service is running on ${folder} (${error.owner})`;
      return wrong(CHECK, found, "Stop the service first: only one process can use an embedded database.");
    }
  }
  try {
    const database = await openDatabase(settings, silentLog);
    return {
      database,
      async close() {
        await database.close();
        unlock();
      },
    };
  } catch (error) {
    unlock();
    return unreachableFinding(error);
  }
}

const unreachableFinding = (error: unknown) =>
  wrong(
    CHECK,
    `it does not answer: ${errorText(error)}`,
    "Check host, port, user, password and name in DATABASE_URL, and that the server is up.",
  );

interface DatabaseReport {
  findings: Finding[];
  /** Whether the tables of this version exist. */
  readable: boolean;
}

/** Checks reachability, version, schema, clock and jobs. */
export async function checkDatabase({ db }: Database, settings: DatabaseSettings, edge: Platform): Promise<DatabaseReport> {
  let server: ServerInfo;
  try {
    server = await readServerInfo(db);
  } catch (error) {
    const findings = [unreachableFinding(error), checkConnectionHost(settings, edge)];
    return { findings: findings.filter((finding) => finding !== null), readable: false };
  }
  const schema = await readSchemaState(db);
  const readable = schema === "current" || schema === "newer";
  const findings = [
    checkServer(server, settings),
    checkConnectionHost(settings, edge),
    checkClock(CHECK, server.ahead_ms, server.latency_ms / 2),
    checkSchemaState(schema, edge),
    ...(readable ? await checkJobs(db, settings) : []),
  ];
  return { findings: findings.filter((finding) => finding !== null), readable };
}

/** Version 13 added 64-bit transaction ids and `gen_random_uuid`. The project is tested with 17 and 18. */
const MIN_POSTGRES_MAJOR = 13;
const SLOW_ANSWER_MS = 50;

function checkServer({ version, latency_ms }: ServerInfo, { database }: DatabaseSettings): Finding {
  const found = `PostgreSQL ${version} answers in ${latency_ms.toFixed(1)} ms (${database.driver})`;
  if (Number.parseInt(version) < MIN_POSTGRES_MAJOR)
    return wrong(CHECK, found, `Move to PostgreSQL ${MIN_POSTGRES_MAJOR} or newer.`);
  if (latency_ms > SLOW_ANSWER_MS)
    return warning(CHECK, found, "Run the service in the region of its database: every request needs several round trips.");
  return ok(CHECK, found);
}

/** Checks which host of Neon is used. Functions need the pooled host, a local server needs the direct host. */
function checkConnectionHost({ database: { url } }: DatabaseSettings, edge: Platform): Finding | null {
  const host = url && URL.canParse(url) ? new URL(url).hostname : "";
  if (!host.endsWith(".neon.tech")) return null;
  const pooled = host.split(".")[0]!.endsWith("-pooler");
  if (edge === "lambda" && !pooled)
    return warning(
      CHECK,
      "DATABASE_URL is the direct host",
      "Use the pooled host (with -pooler) for the functions, and the direct one only for the migration.",
    );
  if (edge === "local" && pooled)
    return warning(
      CHECK,
      "DATABASE_URL is the pooled host",
      "Use the direct host (without -pooler) for a local server: it migrates at start with a session lock, which a pooler breaks.",
    );
  return ok(CHECK, pooled ? "pooled connection" : "direct connection");
}

function checkSchemaState(schema: SchemaState, edge: Platform): Finding {
  const remedy = edge === "lambda" ? "Deploy: a deployment migrates first." : "Start the service once: it migrates first.";
  if (schema === "absent") return wrong("schema", "there are no tables", remedy);
  if (schema === "older") return wrong("schema", "migrations of this version are missing", remedy);
  return ok("schema", schema === "newer" ? "newer than this version, which is fine" : "current");
}

async function checkJobs(db: Db, { database }: DatabaseSettings): Promise<Finding[]> {
  const ctx = { db, now: () => new Date() };
  const { dead = 0, queued = 0, running = 0 } = await countJobs(ctx);
  const age = await readJobAge(ctx);
  const findings: Finding[] = [];
  const counts = `${queued} queued, ${running} running`;
  if (database.driver === "pglite") findings.push(ok("jobs", `${counts}; they run when the service starts`));
  else if (age > OVERDUE_SECONDS)
    findings.push(
      wrong(
        "jobs",
        `${counts}; the oldest due job has waited ${Math.round(age / 60)} min`,
        'Check that the consumers and the relay schedule run: docs/operating.md, "Jobs wait".',
      ),
    );
  else findings.push(ok("jobs", `${counts}; the oldest due job has waited ${Math.round(age)} s`));
  if (dead > 0)
    findings.push(warning("jobs", `${dead} dead`, "Find the cause with npm run jobs, fix it, then run npm run jobs -- redrive."));
  return findings;
}
