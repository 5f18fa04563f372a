import { afterAll, beforeAll, test } from "vitest";
import { type Postgres, startPostgres } from "../../support/postgres.ts";
import { type ProcessPool, startProcessPool } from "../crashes/process-pool.ts";
import { seedOfRun } from "../crashes/random.ts";
import { createEmptyDatabase } from "../crashes/snapshot.ts";
import { expectInvariants } from "./invariants.ts";
import { runDeliveries } from "./run.ts";

const CHANGES = Number(process.env["CHANGES"] ?? 10_000);

let postgres: Postgres;
let crew: ProcessPool;

beforeAll(async () => {
  [postgres, crew] = await Promise.all([startPostgres(), startProcessPool(2)]);
  await createEmptyDatabase(postgres);
});
afterAll(async () => {
  await crew.close();
  await postgres.stop();
});

// oxlint-disable-next-line vitest/expect-expect -- expectInvariants has them
test("each change is delivered or visible as failed while receivers, the queue and processes fail at random", async ({
  task,
}) => {
  const plan = { seed: seedOfRun(), changes: CHANGES, clients: 12, processes: 3, mean_life: 3_000 };
  task.meta.summary = { seed: plan.seed };
  await runDeliveries({ postgres, crew }, plan, async (run) => {
    task.meta.summary = run.figures;
    await expectInvariants(run);
  });
});
