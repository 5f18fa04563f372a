import { afterAll, beforeAll, expect, test } from "vitest";
import { cleanUpPrograms } from "../support/program.ts";
import type { ServerProcess } from "../support/server-process.ts";
import { databaseFaults } from "./faults/database-faults.ts";
import { cutAtEachStatement, operations } from "./faults/each-statement.ts";
import { prepare, type Prepared, startSurroundings, type Surroundings } from "./faults/environment.ts";
import { expectHarmless, runFault } from "./faults/run.ts";

// These are a few of the faults of `npm run test:faults`.
const SEED = 20_261_122;
const database = "board";
let surroundings: Surroundings;
let server: ServerProcess;
let prepared: Prepared;

beforeAll(async () => {
  surroundings = await startSurroundings();
  await surroundings.postgres.createDatabase(database);
  server = await surroundings.start(surroundings.environment("node-postgres", database));
  prepared = await prepare(server, surroundings);
});
afterAll(async () => {
  await cleanUpPrograms();
  await surroundings.close();
});

test("a post to a webhook survives a lost connection at each of its statements", { timeout: 120_000 }, async () => {
  await cutAtEachStatement(surroundings, server, prepared, operations["a post to a webhook"]!);
  expect(server.isAlive()).toBe(true);
});

test("a restart of the database loses nothing, and the service recovers", { timeout: 120_000 }, async () => {
  const name = "database restarted";
  const run = await runFault(surroundings, server, prepared, { name, fault: databaseFaults[name]!, database, seed: SEED });
  expect(run.alive).toBe(true);
  expectHarmless(run);
});
