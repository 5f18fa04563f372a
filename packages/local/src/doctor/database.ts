import { existsSync } from "node:fs";
import path from "node:path";
import type { Db } from "@board/core/context";
import { type Database, readSchemaState, type SchemaState } from "@board/core/db/database";
import { readServer, type Server } from "@board/core/db/server";
import { readJobAge } from "@board/core/job/age";
import { countJobs } from "@board/core/job/job";
import { errorText, silent } from "@board/core/log";
import type { DatabaseSettings } from "@board/core/settings";
import { databaseFolder, openDatabase } from "../database.ts";
import { FolderInUse, lockFolder } from "../lock.ts";
import { type Finding, judgeClock, ok, warning, wrong } from "./finding.ts";
import type { Edge } from "./settings.ts";

const CHECK = "database";

export interface Opened {
  database: Database;
  close(): Promise<void>;
}

/** Opens the database of the settings, or tells why it cannot be looked at. One that is not there is not made. */
export async function openToLook(settings: DatabaseSettings): Promise<Opened | Finding> {
  const { driver } = settings.database;
  let unlock = () => {};
  if (driver === "pglite") {
    const folder = path.resolve(settings.data_dir);
    if (!existsSync(databaseFolder(settings)))
      return warning(CHECK, `there is none in ${folder} yet`, "Start the service once, or set DATA_DIR or DATABASE_URL.");
    try {
      unlock = lockFolder(folder);
    } catch (error) {
      if (!(error instanceof FolderInUse)) throw error;
      const found = `the service is running on ${folder} (${error.owner})`;
      return wrong(
        CHECK,
        found,
        "Stop the service first: an embedded database has one user; one of DATABASE_URL can be looked at any time.",
      );
    }
  }
  try {
    const database = await openDatabase(settings, silent);
    return {
      database,
      async close() {
        await database.close();
        unlock();
      },
    };
  } catch (error) {
    unlock();
    return unreachable(error);
  }
}

const unreachable = (error: unknown) =>
  wrong(
    CHECK,
    `it does not answer: ${errorText(error)}`,
    "Check host, port, user, password and name in DATABASE_URL, and that the server is up.",
  );

export interface Look {
  findings: Finding[];
  /** Whether the tables of this version are there to be read. */
  readable: boolean;
}

/** Reachability, version, schema, clock and jobs. */
export async function checkDatabase({ db }: Database, settings: DatabaseSettings, edge: Edge): Promise<Look> {
  let server: Server;
  try {
    server = await readServer(db);
  } catch (error) {
    const findings = [unreachable(error), judgeRoute(settings, edge)];
    return { findings: findings.filter((finding) => finding !== null), readable: false };
  }
  const schema = await readSchemaState(db);
  const readable = schema === "current" || schema === "newer";
  const findings = [
    judgeServer(server, settings),
    judgeRoute(settings, edge),
    judgeClock(CHECK, server.ahead_ms, server.latency_ms / 2),
    judgeSchema(schema, edge),
    ...(readable ? await checkJobs(db, settings) : []),
  ];
  return { findings: findings.filter((finding) => finding !== null), readable };
}

/** Transaction ids of 64 bits and `gen_random_uuid` came with 13; the project is tested with 17 and 18. */
const OLDEST = 13;
const FAR_MS = 50;

function judgeServer({ version, latency_ms }: Server, { database }: DatabaseSettings): Finding {
  const found = `PostgreSQL ${version} answers in ${latency_ms.toFixed(1)} ms (${database.driver})`;
  if (Number.parseInt(version) < OLDEST) return wrong(CHECK, found, `Move to PostgreSQL ${OLDEST} or newer.`);
  if (latency_ms > FAR_MS)
    return warning(CHECK, found, "Run the service in the region of its database: every request waits for a few answers.");
  return ok(CHECK, found);
}

/** Neon has a pooled and a direct host; which one is right depends on who connects. */
function judgeRoute({ database: { url } }: DatabaseSettings, edge: Edge): Finding | null {
  const host = url && URL.canParse(url) ? new URL(url).hostname : "";
  if (!host.endsWith(".neon.tech")) return null;
  const pooled = host.split(".")[0]!.endsWith("-pooler");
  if (edge === "lambda" && !pooled)
    return warning(
      CHECK,
      "DATABASE_URL is the direct host",
      "Give the functions the pooled host (with -pooler), and the direct one to the migration alone.",
    );
  if (edge === "local" && pooled)
    return warning(
      CHECK,
      "DATABASE_URL is the pooled host",
      "Give a local server the direct host (without -pooler): it migrates at its start, under a lock that a pooler would lose.",
    );
  return ok(CHECK, pooled ? "pooled connection" : "direct connection");
}

function judgeSchema(schema: SchemaState, edge: Edge): Finding {
  const remedy = edge === "lambda" ? "Deploy: it migrates first." : "Start the service once: it migrates first.";
  if (schema === "absent") return wrong("schema", "there are no tables", remedy);
  if (schema === "older") return wrong("schema", "migrations of this version are missing", remedy);
  return ok("schema", schema === "newer" ? "newer than this version, which is fine" : "that of this version");
}

const LATE_SECONDS = 15 * 60;

async function checkJobs(db: Db, { database }: DatabaseSettings): Promise<Finding[]> {
  const ctx = { db, now: () => new Date() };
  const { dead = 0, queued = 0, running = 0 } = await countJobs(ctx);
  const age = await readJobAge(ctx);
  const findings: Finding[] = [];
  const waiting = `${queued} queued, ${running} running`;
  if (database.driver === "pglite") findings.push(ok("jobs", `${waiting}; they go on when the service starts`));
  else if (age > LATE_SECONDS)
    findings.push(
      wrong(
        "jobs",
        `${waiting}; the oldest that could be done has waited ${Math.round(age / 60)} min`,
        'See that the consumers and the relay schedule run: docs/operating.md, "Jobs wait".',
      ),
    );
  else findings.push(ok("jobs", `${waiting}; the oldest that could be done has waited ${Math.round(age)} s`));
  if (dead > 0)
    findings.push(warning("jobs", `${dead} dead`, "Read why with npm run jobs, mend the cause, then npm run jobs -- redrive."));
  return findings;
}
