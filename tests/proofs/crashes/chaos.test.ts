import { afterAll, beforeAll, test } from "vitest";
import { type ProcessPool, startProcessPool } from "./process-pool.ts";
import { seedOfRun } from "./random.ts";
import { createEmptyDatabase } from "./snapshot.ts";
import { runChaos } from "./chaos.ts";
import { expectInvariants } from "./chaos-invariants.ts";
import { type Postgres, startPostgres } from "../../support/postgres.ts";

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

// oxlint-disable-next-line vitest/expect-expect -- expectPromisesKept has them
test("10,000 posts are stored and delivered once and in order while hosts, the queue and processes fail at random", async ({
  task,
}) => {
  const plan = { seed: seedOfRun(), posts: 10_000, clients: 16, processes: 3, mean_life: 3_000, organizations: 3, boards: 3 };
  task.meta.summary = { seed: plan.seed };
  await runChaos({ postgres, crew }, plan, async (result) => {
    task.meta.summary = result.figures;
    await expectInvariants(result);
  });
});
