/** A small part of `npm run test:steps`. */
import { afterAll, expect, test } from "vitest";
import { startProcessPool } from "./load/process-pool.ts";
import { withSeed } from "./load/random.ts";
import { runSteps } from "./steps/run.ts";

const crew = await startProcessPool(1);
afterAll(() => crew.close());

test("each step that an agent sends is stored once while a process is killed", { timeout: 300_000 }, async () => {
  const plan = { batches: 120, batch_size: 40, clients: 6, processes: 2, mean_life: 80 };
  const figures = await withSeed((seed) => runSteps(crew, { seed, ...plan }));
  expect(figures.kills).toBeGreaterThan(0);
  expect(figures.repeated).toBeGreaterThan(0);
  expect(figures.gaps).toBeGreaterThan(0);
});
