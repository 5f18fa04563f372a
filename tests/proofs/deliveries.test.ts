import { afterAll, beforeAll, test } from "vitest";
import { type ProcessPool, startProcessPool } from "./crashes/process-pool.ts";
import { seedOfRun } from "./crashes/random.ts";
import { createEmptyDatabase } from "./crashes/snapshot.ts";
import { expectInvariants } from "./deliveries/invariants.ts";
import { runDeliveries } from "./deliveries/run.ts";
import { type Postgres, startPostgres } from "../support/postgres.ts";

// This is a small run of `npm run test:deliveries`, which makes 10,000 changes.
let postgres: Postgres;
let crew: ProcessPool;

beforeAll(async () => {
  [postgres, crew] = await Promise.all([startPostgres(), startProcessPool(1)]);
  await createEmptyDatabase(postgres);
});
afterAll(async () => {
  await crew.close();
  await postgres.stop();
});

// oxlint-disable-next-line vitest/expect-expect -- expectInvariants has them
test("each of 60 changes is delivered or visible as failed while receivers, the queue and processes fail at random", {
  timeout: 300_000,
}, async () => {
  const plan = { seed: seedOfRun(), changes: 60, clients: 4, processes: 2, mean_life: 1_200 };
  await runDeliveries({ postgres, crew }, plan, expectInvariants).catch((cause: unknown) => {
    throw new Error(`SEED=${plan.seed}`, { cause });
  });
});
