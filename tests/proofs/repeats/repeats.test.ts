import { expect, test } from "vitest";
import { setup } from "../../support/fixtures.ts";
import { startProcessPool } from "../load/process-pool.ts";
import { withSeed } from "../load/random.ts";
import { runRepeats } from "./run.ts";

/** POSTS in the environment sets another number. */
const posts = Number(process.env["POSTS"] ?? 10_000);
const crew = await setup(startProcessPool(2));

test("thousands of repeated POSTs have one effect and one answer for each key while processes are killed", async ({ task }) => {
  const plan = { posts, clients: 16, processes: 2, mean_life: 3_000, posts_per_lost_connection: 40 };
  const figures = await withSeed((seed) => runRepeats(crew, { seed, ...plan }));
  task.meta.summary = figures;
  expect(figures.kills).toBeGreaterThan(0);
});
