/** A small part of `npm run test:repeats`. */
import { expect, test } from "vitest";
import { setup } from "../support/fixtures.ts";
import { startProcessPool } from "./load/process-pool.ts";
import { withSeed } from "./load/random.ts";
import { runRepeats } from "./repeats/run.ts";

const crew = await setup(startProcessPool(1));

test("repeated POSTs have one effect and one answer for each key while a process is killed", { timeout: 300_000 }, async () => {
  const plan = { posts: 200, clients: 8, processes: 2, mean_life: 400, posts_per_lost_connection: 30 };
  const figures = await withSeed((seed) => runRepeats(crew, { seed, ...plan }));
  expect(figures.kills).toBeGreaterThan(0);
  expect(figures.lost_connections).toBeGreaterThan(0);
  expect(figures.replayed).toBeGreaterThan(0);
});
