import { afterAll, beforeAll, test } from "vitest";
import { type Crew, startCrew } from "../support/crashes/processes.ts";
import { seedOfRun } from "../support/crashes/random.ts";
import { prepareServer } from "../support/crashes/stage.ts";
import { storm } from "../support/crashes/storm.ts";
import { expectPromisesKept } from "../support/crashes/storm-promises.ts";
import { type Postgres, startPostgres } from "../support/postgres.ts";

let postgres: Postgres;
let crew: Crew;

beforeAll(async () => {
  [postgres, crew] = await Promise.all([startPostgres(), startCrew(2)]);
  await prepareServer(postgres);
});
afterAll(async () => {
  await crew.close();
  await postgres.stop();
});

// oxlint-disable-next-line vitest/expect-expect -- expectPromisesKept has them
test("10,000 posts, while hosts, queue and processes fail at random: stored once, heard once, in order", async ({ task }) => {
  const plan = { seed: seedOfRun(), posts: 10_000, clients: 16, processes: 3, mean_life: 3_000, organizations: 3, boards: 3 };
  task.meta.told = { seed: plan.seed };
  await storm({ postgres, crew }, plan, async (result) => {
    task.meta.told = result.figures;
    await expectPromisesKept(result);
  });
});
