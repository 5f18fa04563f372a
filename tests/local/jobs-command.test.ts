import { mkdirSync, readdirSync } from "node:fs";
import path from "node:path";
import type { Db } from "@board/core/context/db";
import { openPglite } from "@board/core/db/pglite";
import { openPostgres } from "@board/core/db/postgres";
import { jobs } from "@board/core/schema/all-tables";
import { silentLog } from "@board/core/values/log";
import { asc } from "drizzle-orm";
import { afterEach, describe, expect, test } from "vitest";
import { startPostgres } from "../support/postgres.ts";
import { cleanUpPrograms, dataFolder, runProgram, startProgram, temporaryFolder } from "../support/program.ts";

afterEach(cleanUpPrograms);

const HOUR_MS = 3_600_000;

interface Stored {
  queued: string;
  dead: [string, string];
}

/** Stores one queued, one done and two dead jobs. */
async function addJobs(db: Db): Promise<Stored> {
  const job = { kind: "webhook.notify", payload: {}, run_at: new Date(), max_attempts: 12 };
  const dead = { ...job, status: "dead" as const, attempts: 12, created_at: new Date(Date.now() - 3 * HOUR_MS) };
  const rows = await db
    .insert(jobs)
    .values([
      job,
      { ...job, status: "done" },
      { ...dead, last_error: "connect ECONNREFUSED\n  at the gateway" },
      { ...dead, last_error: "x".repeat(500) },
    ])
    .returning({ id: jobs.id });
  const [queued, , first, second] = rows.map(({ id }) => id);
  return { queued: queued!, dead: [first!, second!] };
}

/** Returns the state of all jobs, in the order of `addJobs`. */
const states = async (db: Db) =>
  (await db.select({ status: jobs.status }).from(jobs).orderBy(asc(jobs.seq))).map((job) => job.status);

/** Opens the database in the data folder of a stopped server. */
async function withFolder<T>(folder: string, work: (db: Db) => Promise<T>): Promise<T> {
  const database = await openPglite({ folder: path.join(folder, "database") });
  try {
    return await work(database.db);
  } finally {
    await database.close();
  }
}

async function filledFolder(): Promise<{ folder: string; stored: Stored }> {
  const folder = dataFolder();
  return { folder, stored: await withFolder(folder, addJobs) };
}

describe("the jobs command on the embedded database", () => {
  test("jobs counts the jobs by state and lists the dead ones with their last error", async () => {
    const { folder, stored } = await filledFolder();
    const { code, stdout, stderr } = await runProgram("jobs", { DATA_DIR: folder });
    expect({ code, stderr }).toEqual({ code: 0, stderr: "" });
    const [counts, , , newest, oldest] = stdout.split("\n");
    expect(counts).toBe("queued 1   running 0   done 1   dead 2");
    expect(newest).toMatch(new RegExp(`^${stored.dead[1]} +webhook\\.notify +12/12 +3 h +x{159}…$`));
    expect(oldest).toMatch(new RegExp(`^${stored.dead[0]} +webhook\\.notify +12/12 +3 h +connect ECONNREFUSED at the gateway$`));
    expect(stdout).not.toContain(stored.queued);
  });

  test("jobs redrive requeues the named dead jobs and reports every other id as not dead", async () => {
    const { folder, stored } = await filledFolder();
    const missing = "00000000-0000-4000-8000-000000000000";
    const named = await runProgram("jobs", { DATA_DIR: folder }, [
      "redrive",
      stored.dead[0].toUpperCase(),
      stored.queued,
      missing,
    ]);
    expect(named).toMatchObject({ code: 1, stdout: "Redriven: 1. They run when the service starts.\n" });
    expect(named.stderr).toBe(`${stored.queued} is not a dead job\n${missing} is not a dead job\n`);
    expect(await withFolder(folder, states)).toEqual(["queued", "done", "queued", "dead"]);

    const remaining = await runProgram("jobs", { DATA_DIR: folder }, ["redrive"]);
    expect(remaining).toMatchObject({ code: 0, stdout: "Redriven: 1. They run when the service starts.\n", stderr: "" });
    expect(await withFolder(folder, states)).toEqual(["queued", "done", "queued", "queued"]);
    expect(await runProgram("jobs", { DATA_DIR: folder }, ["redrive"])).toMatchObject({
      code: 0,
      stdout: "There are no dead jobs.\n",
    });
  });

  test("the jobs command reads the jobs of a running service, and redrives jobs through the service", async () => {
    const folder = dataFolder();
    const LOCAL_AUTH_TOKEN = "local-token-".repeat(5);
    const environment = { DATA_DIR: folder, PORT: "0", LOCAL_AUTH_TOKEN };
    const first = startProgram("main", environment);
    const [, first_url] = await first.waitForOutput(/ready at (\S+)/);
    const headers = { authorization: `Bearer ${LOCAL_AUTH_TOKEN}` };
    const mine = (await (await fetch(`${first_url}/api/v1/organizations/me`, { headers })).json()) as { id: string };
    await first.stop();
    const id = await withFolder(folder, async (db) => {
      const dead = { kind: "webhook.notify", payload: {}, run_at: new Date(), max_attempts: 12, status: "dead" as const };
      const [row] = await db
        .insert(jobs)
        .values({ ...dead, attempts: 12, organization_id: mine.id, last_error: "refused" })
        .returning();
      return row!.id;
    });

    const server = startProgram("main", environment);
    await server.waitForOutput(/ready at (\S+)/);
    const status = await runProgram("jobs", environment);
    expect(status).toMatchObject({ code: 0, stderr: "" });
    expect(status.stdout).toMatch(new RegExp(`^dead 1\n\n.+\n${id} +webhook\\.notify +12/12 .+ refused\n`));
    const missing = "00000000-0000-4000-8000-000000000000";
    expect(await runProgram("jobs", environment, ["redrive", id, missing])).toMatchObject({
      code: 1,
      stdout: "Redriven: 1. They run now.\n",
      stderr: `${missing} is not a dead job\n`,
    });
    expect(await runProgram("jobs", environment, ["redrive"])).toMatchObject({ code: 0, stdout: expect.any(String) });
    await server.stop();
  });

  test("the jobs command is refused, and changes nothing, when it cannot sign in to the running service", async () => {
    const folder = dataFolder();
    const server = startProgram("main", { DATA_DIR: folder, PORT: "0" });
    const [, url] = await server.waitForOutput(/ready at (\S+)/);
    const refused = await runProgram("jobs", { DATA_DIR: folder, AUTH_MODE: "oidc" });
    expect(refused).toMatchObject({ code: 1, stdout: "" });
    expect(refused.stderr).toMatch(/^The service is running on .+ \(process \d+\), and this command cannot sign in to it\..+\n$/);
    expect((await fetch(`${url}/readyz`)).status).toBe(200);
    await server.stop();
    expect(await runProgram("jobs", { DATA_DIR: folder })).toMatchObject({
      code: 0,
      stdout: "queued 0   running 0   done 0   dead 0\n",
    });
  });

  test("the jobs command reports a folder without a database and creates nothing in it", async () => {
    const folder = temporaryFolder();
    const refused = await runProgram("jobs", { DATA_DIR: folder });
    expect(refused).toMatchObject({
      code: 1,
      stdout: "",
      stderr: `There is no database in ${folder}. Set DATA_DIR or DATABASE_URL.\n`,
    });
    expect(readdirSync(folder)).toEqual([]);
  });

  test("the jobs command reports a database without tables", async () => {
    const folder = temporaryFolder();
    mkdirSync(path.join(folder, "database"));
    const refused = await runProgram("jobs", { DATA_DIR: folder });
    expect(refused).toMatchObject({ code: 1, stdout: "", stderr: expect.stringContaining("lacks migrations") });
  });
});

test("the jobs command needs only DATABASE_URL for a database server, which may be in use", async () => {
  const postgres = await startPostgres();
  try {
    const DATABASE_URL = await postgres.createDatabase("jobs");
    const database = openPostgres(DATABASE_URL, { log: silentLog });
    await database.migrate();
    const stored = await addJobs(database.db);
    expect((await runProgram("jobs", { DATABASE_URL })).stdout).toContain("dead 2");
    const all = await runProgram("jobs", { DATABASE_URL }, ["redrive", ...stored.dead]);
    expect(all).toMatchObject({ code: 0, stdout: "Redriven: 2. The service picks them up within five minutes.\n", stderr: "" });
    expect(await states(database.db)).toEqual(["queued", "done", "queued", "queued"]);
    await database.close();
  } finally {
    await postgres.stop();
  }
  const gone = await runProgram("jobs", { DATABASE_URL: postgres.url("jobs") });
  expect(gone).toMatchObject({ code: 1, stdout: "" });
  expect(gone.stderr).toMatch(/^Reading the jobs failed: .*ECONNREFUSED.*\n$/);
});

describe("the arguments of the jobs command", () => {
  test.each([{ args: ["--help"] }, { args: ["redrive", "-h"] }])("jobs $args prints the usage", async ({ args }) => {
    const { code, stdout } = await runProgram("jobs", {}, args);
    expect(code).toBe(0);
    expect(stdout).toContain("npm run jobs -- redrive <id> ...");
  });

  test.each([
    { args: ["revive"], message: "There is no command revive." },
    { args: ["--all"], message: "Unknown option '--all'" },
    { args: ["redrive", "17"], message: "17 is not the id of a job" },
    { args: ["status", "17"], message: "status takes no ids." },
  ])("jobs $args is refused with one line and exit code 2", async ({ args, message }) => {
    const refused = await runProgram("jobs", { DATA_DIR: temporaryFolder() }, args);
    expect(refused).toMatchObject({ code: 2, stdout: "" });
    expect(refused.stderr).toMatch(/^[^\n]+\n$/);
    expect(refused.stderr).toContain(message);
  });

  test("the jobs command names an invalid setting without its value", async () => {
    const refused = await runProgram("jobs", { DATABASE_URL: "mysql://user:secret@host/db" });
    expect(refused).toMatchObject({ code: 1, stdout: "", stderr: "DATABASE_URL must be a postgres:// URL\n" });
  });
});
