import { afterAll, beforeAll, describe, test } from "vitest";
import { type Postgres, startPostgres } from "../../support/postgres.ts";
import { cleanUpPrograms, dataFolder } from "../../support/program.ts";
import { type ServerProcess, startServerProcess } from "../../support/server-process.ts";
import { seedOfRun } from "../load/random.ts";
import { attacks } from "./attacks/all.ts";
import { createTenants, expectUnharmed, runAttack, startOutside, type Tenants } from "./run.ts";

const seed = seedOfRun();
const names = Object.keys(attacks);
/** Seconds of an attack on the embedded database, where the attacks follow each other on one server. */
const EMBEDDED_SECONDS = 2;
/** No attack may need more memory: a process in a container with one gigabyte has about this much. */
const HEAP_MB = 512;
const outside = await startOutside();
afterAll(async () => {
  await cleanUpPrograms();
  await outside.close();
});

const start = (environment: Record<string, string>, preloads: readonly string[] = []) =>
  startServerProcess({
    issuer: outside.identities.issuer,
    environment: { ...outside.environment, ...environment },
    preloads,
    heap_mb: HEAP_MB,
  });

// oxlint-disable vitest/expect-expect -- expectUnharmed has them
describe("on a PostgreSQL server", () => {
  let postgres: Postgres;
  let tenants: Tenants;
  let copies = 0;

  beforeAll(async () => {
    postgres = await startPostgres();
    const server = await start({ DATABASE_URL: await postgres.createDatabase("prepared") });
    tenants = await createTenants(server, outside);
    await server.stop();
  });
  afterAll(() => postgres.stop());

  test.for(names)("organization B works as usual while organization A attacks with %s", async (name, { task }) => {
    const DATABASE_URL = await postgres.createDatabase(`attack_${++copies}`, "prepared");
    const server = await start({ DATABASE_URL, ...attacks[name]!.environment }, attacks[name]!.preloads);
    const outcome = await runAttack(server, outside, tenants, { name, seed });
    await server.stop("SIGKILL");
    task.meta.summary = { database: "PostgreSQL", ...outcome.summary, seed };
    expectUnharmed(outcome);
  });
});

describe("on the embedded database, one attack after the other", () => {
  let server: ServerProcess;
  let tenants: Tenants;
  const preloads = ["names.cjs"];
  // What a longer attack leaves behind is still there during the attacks that follow it.
  const suited = names
    .filter((name) => !attacks[name]!.preloads?.some((preload) => !preloads.includes(preload)))
    .toSorted((one, other) => (attacks[one]!.seconds ?? 0) - (attacks[other]!.seconds ?? 0));
  const folder = { DATA_DIR: "" };

  beforeAll(async () => {
    folder.DATA_DIR = dataFolder();
    server = await start(folder, preloads);
    tenants = await createTenants(server, outside);
  });

  test.for(suited)("organization B works as usual while organization A attacks with %s", async (name, { task }) => {
    if (!server.isAlive()) server = await start(folder, preloads);
    const seconds = attacks[name]!.embedded_seconds ?? EMBEDDED_SECONDS;
    const outcome = await runAttack(server, outside, tenants, { name, seed, seconds });
    task.meta.summary = { database: "embedded", ...outcome.summary, seed };
    expectUnharmed(outcome);
  });
});
// oxlint-enable vitest/expect-expect
