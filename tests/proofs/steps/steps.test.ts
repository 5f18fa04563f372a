import { afterAll, expect, test } from "vitest";
import { startProcessPool } from "../load/process-pool.ts";
import { withSeed } from "../load/random.ts";
import { runSteps } from "./run.ts";

/** BATCHES in the environment sets another number. */
const batches = Number(process.env["BATCHES"] ?? 1_200);
const crew = await startProcessPool(2);
afterAll(() => crew.close());

test("each of a hundred thousand steps of twenty agents is stored once while processes are killed", async ({ task }) => {
  const plan = { batches, batch_size: 200, clients: 20, processes: 2, mean_life: 400 };
  const figures = await withSeed((seed) => runSteps(crew, { seed, ...plan }));
  task.meta.summary = figures;
  expect(figures.kills).toBeGreaterThan(0);
});
