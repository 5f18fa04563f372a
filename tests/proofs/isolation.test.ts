import { afterAll, expect, test } from "vitest";
import { cleanUpPrograms, dataFolder } from "../support/program.ts";
import { startServerProcess } from "../support/server-process.ts";
import { createTenants, expectCorrect, runAttack, startOutside } from "./isolation/run.ts";

// These are a few of the attacks of `npm run test:isolation`.
const ATTACKS: [name: string, seconds: number][] = [
  ["answers of a host nested 200,000 deep", 2],
  ["40 agents on a host that answers no call", 5],
  ["500 pipelined reads of the OpenAPI document in four connections", 2],
  ["300 connections that send one request each", 2],
];
const SEED = 20_261_122;
const outside = await startOutside();
afterAll(async () => {
  await cleanUpPrograms();
  await outside.close();
});
const environment = { ...outside.environment, DATA_DIR: dataFolder() };
const server = await startServerProcess({ issuer: outside.identities.issuer, environment });
const tenants = await createTenants(server, outside);

test.each(ATTACKS)(
  "an organization works as usual while another organization attacks with %s",
  { timeout: 120_000 },
  async (name, seconds) => {
    const outcome = await runAttack(server, outside, tenants, { name, seed: SEED, seconds });
    expect(outcome.alive).toBe(true);
    // Other tests run at the same time, so only `npm run test:isolation` limits how long the work may take.
    expectCorrect(outcome);
  },
);
