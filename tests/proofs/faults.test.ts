/** Tests a few of the faults of `npm run test:faults`. */
import { afterAll, expect, test } from "vitest";
import { cleanUpPrograms } from "../support/program.ts";
import { databaseFaults } from "./faults/database-faults.ts";
import { cutAtEachStatement, operations } from "./faults/each-statement.ts";
import { prepare, startSurroundings } from "./faults/environment.ts";
import { expectHarmless, runFault } from "./faults/run.ts";

const SEED = 20_261_122;
const database = "board";
const surroundings = await startSurroundings();
afterAll(async () => {
  await cleanUpPrograms();
  await surroundings.close();
});
await surroundings.postgres.createDatabase(database);
const server = await surroundings.start(surroundings.environment("node-postgres", database));
const prepared = await prepare(server, surroundings);

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
