import { mkdirSync, readdirSync, readFileSync } from "node:fs";
import path from "node:path";
import type { Db } from "@board/core/context";
import { openPglite } from "@board/core/db/pglite";
import { openPostgres } from "@board/core/db/postgres";
import { jobs } from "@board/core/db/schema";
import { silent } from "@board/core/log";
import { asc } from "drizzle-orm";
import { afterEach, describe, expect, inject, test, vi } from "vitest";
import { startPostgres } from "./support/postgres.ts";
import { cleanUp, dataFolder, runProgram, startProgram, temporaryFolder } from "./support/program.ts";

// Each test starts programs, each with a database of its own.
vi.setConfig({ testTimeout: 90_000 });
afterEach(cleanUp);

const HOUR_MS = 3_600_000;

interface Stored {
  queued: string;
  dead: [string, string];
}

/** One job in the queue, one done, two dead. */
async function fill(db: Db): Promise<Stored> {
  const job = { kind: "webhook.notify", payload: {}, run_at: new Date(), max_attempts: 12 };
  const given_up = { ...job, status: "dead" as const, attempts: 12, created_at: new Date(Date.now() - 3 * HOUR_MS) };
  const rows = await db
    .insert(jobs)
    .values([
      job,
      { ...job, status: "done" },
      { ...given_up, last_error: "connect ECONNREFUSED\n  at the gateway" },
      { ...given_up, last_error: "x".repeat(500) },
    ])
    .returning({ id: jobs.id });
  const [queued, , first, second] = rows.map(({ id }) => id);
  return { queued: queued!, dead: [first!, second!] };
}

/** The state of all jobs, in the order of `fill`. */
const states = async (db: Db) =>
  (await db.select({ status: jobs.status }).from(jobs).orderBy(asc(jobs.seq))).map((job) => job.status);

/** A folder as a server leaves it. */
async function withFolder<T>(folder: string, work: (db: Db) => Promise<T>): Promise<T> {
  const database = await openPglite({ folder: path.join(folder, "database") });
  try {
    return await work(database.db);
  } finally {
    await database.close();
  }
}

async function filledFolder(): Promise<{ folder: string; stored: Stored }> {
  const folder = temporaryFolder();
  const database = await openPglite({
    folder: path.join(folder, "database"),
    dump: new Blob([readFileSync(inject("template"))]),
  });
  const stored = await fill(database.db);
  await database.close();
  return { folder, stored };
}

describe("on the embedded database", () => {
  test("jobs are counted by state, and the dead ones are listed with what went wrong", async () => {
    const { folder, stored } = await filledFolder();
    const { code, stdout, stderr } = await runProgram("jobs", { DATA_DIR: folder });
    expect({ code, stderr }).toEqual({ code: 0, stderr: "" });
    const [counts, , , newest, oldest] = stdout.split("\n");
    expect(counts).toBe("queued 1   running 0   done 1   dead 2");
    expect(newest).toMatch(new RegExp(`^${stored.dead[1]} +webhook\\.notify +12/12 +3 h +x{159}…$`));
    expect(oldest).toMatch(new RegExp(`^${stored.dead[0]} +webhook\\.notify +12/12 +3 h +connect ECONNREFUSED at the gateway$`));
    expect(stdout).not.toContain(stored.queued);
  });

  test("redrive gives the named jobs a new life, and says of the others that they are not dead", async () => {
    const { folder, stored } = await filledFolder();
    const missing = "00000000-0000-4000-8000-000000000000";
    const some = await runProgram("jobs", { DATA_DIR: folder }, [
      "redrive",
      stored.dead[0].toUpperCase(),
      stored.queued,
      missing,
    ]);
    expect(some).toMatchObject({ code: 1, stdout: "Redriven: 1. They run when the service starts.\n" });
    expect(some.stderr).toBe(`${stored.queued} is not a dead job\n${missing} is not a dead job\n`);
    expect(await withFolder(folder, states)).toEqual(["queued", "done", "queued", "dead"]);

    const rest = await runProgram("jobs", { DATA_DIR: folder }, ["redrive"]);
    expect(rest).toMatchObject({ code: 0, stdout: "Redriven: 1. They run when the service starts.\n", stderr: "" });
    expect(await withFolder(folder, states)).toEqual(["queued", "done", "queued", "queued"]);
    expect(await runProgram("jobs", { DATA_DIR: folder }, ["redrive"])).toMatchObject({ code: 0, stdout: "No job is dead.\n" });
  });

  test("while the service has the folder, the command says to stop it and leaves it alone", async () => {
    const folder = dataFolder();
    const server = startProgram("main", { DATA_DIR: folder, PORT: "0" });
    const [, url] = await server.says(/ready at (\S+)/);
    const refused = await runProgram("jobs", { DATA_DIR: folder });
    expect(refused).toMatchObject({ code: 1, stdout: "" });
    expect(refused.stderr).toMatch(/^The service is running on .+ \(process \d+\)\. Stop it first.+\n$/);
    expect((await fetch(`${url}/readyz`)).status).toBe(200);
    await server.stop();
    expect(await runProgram("jobs", { DATA_DIR: folder })).toMatchObject({
      code: 0,
      stdout: "queued 0   running 0   done 0   dead 0\n",
    });
  });

  test("a folder without a database is told, and nothing is made in it", async () => {
    const folder = temporaryFolder();
    const refused = await runProgram("jobs", { DATA_DIR: folder });
    expect(refused).toMatchObject({
      code: 1,
      stdout: "",
      stderr: `There is no database in ${folder}. Set DATA_DIR or DATABASE_URL.\n`,
    });
    expect(readdirSync(folder)).toEqual([]);
  });

  test("a database without tables is told", async () => {
    const folder = temporaryFolder();
    mkdirSync(path.join(folder, "database"));
    const refused = await runProgram("jobs", { DATA_DIR: folder });
    expect(refused).toMatchObject({ code: 1, stdout: "", stderr: expect.stringContaining("not of this version") });
  });
});

test("a server's database needs its URL and no other setting, and may be in use", async () => {
  const postgres = await startPostgres();
  try {
    const DATABASE_URL = await postgres.createDatabase("jobs");
    const database = openPostgres(DATABASE_URL, { log: silent });
    await database.migrate();
    const stored = await fill(database.db);
    expect((await runProgram("jobs", { DATABASE_URL })).stdout).toContain("dead 2");
    const all = await runProgram("jobs", { DATABASE_URL }, ["redrive", ...stored.dead]);
    expect(all).toMatchObject({ code: 0, stdout: "Redriven: 2. The service takes them up within five minutes.\n", stderr: "" });
    expect(await states(database.db)).toEqual(["queued", "done", "queued", "queued"]);
    await database.close();
  } finally {
    await postgres.stop();
  }
  const gone = await runProgram("jobs", { DATABASE_URL: postgres.url("jobs") });
  expect(gone).toMatchObject({ code: 1, stdout: "" });
  expect(gone.stderr).toMatch(/^The jobs cannot be read: .*ECONNREFUSED.*\n$/);
});

describe("what is asked for", () => {
  test.each([{ args: ["--help"] }, { args: ["redrive", "-h"] }])("$args explains the command", async ({ args }) => {
    const { code, stdout } = await runProgram("jobs", {}, args);
    expect(code).toBe(0);
    expect(stdout).toContain("npm run jobs -- redrive <id> ...");
  });

  test.each([
    { args: ["revive"], told: "There is no command revive." },
    { args: ["--all"], told: "Unknown option '--all'" },
    { args: ["redrive", "17"], told: "17 is not the id of a job" },
    { args: ["status", "17"], told: "status takes no ids." },
  ])("$args is not understood: one line, and 2 as the exit code", async ({ args, told }) => {
    const refused = await runProgram("jobs", { DATA_DIR: temporaryFolder() }, args);
    expect(refused).toMatchObject({ code: 2, stdout: "" });
    expect(refused.stderr).toMatch(/^[^\n]+\n$/);
    expect(refused.stderr).toContain(told);
  });

  test("a bad setting is named, without its value", async () => {
    const refused = await runProgram("jobs", { DATABASE_URL: "mysql://user:secret@host/db" });
    expect(refused).toMatchObject({ code: 1, stdout: "", stderr: "DATABASE_URL must be a postgres:// URL\n" });
  });
});
