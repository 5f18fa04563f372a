import { afterAll, beforeAll, expect, test } from "vitest";
import { type Postgres, startPostgres } from "../../support/postgres.ts";
import { runHolders } from "./holders.ts";
import { seedOfRun } from "./random.ts";
import { createEmptyDatabase } from "./snapshot.ts";

let postgres: Postgres;

beforeAll(async () => {
  postgres = await startPostgres();
  await createEmptyDatabase(postgres);
});
afterAll(() => postgres.stop());

test("while up to 1,000 agents are killed with one of 200 tasks, each task is done once and no late write lands", async ({
  task,
}) => {
  const plan = { seed: seedOfRun(), tasks: 200, kills: 1_000, agents: 16 };
  task.meta.summary = { seed: plan.seed };
  const figures = await runHolders(postgres, plan);
  task.meta.summary = figures;
  expect(figures.late_writes, "agents that were killed left writes behind").toBeGreaterThan(0);
});
