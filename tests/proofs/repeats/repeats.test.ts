import { expect, test } from "vitest";
import { seedOfRun } from "../crashes/random.ts";
import { runRepeats } from "./run.ts";

/** POSTS in the environment sets another number. */
const POSTS = Number(process.env["POSTS"] ?? 10_000);

test("thousands of repeated POSTs have one effect and one answer for each key while processes are killed", async ({ task }) => {
  const plan = { seed: seedOfRun(), posts: POSTS, clients: 16, processes: 2, posts_per_kill: 500, posts_per_lost_connection: 40 };
  task.meta.summary = { seed: plan.seed };
  const figures = await runRepeats(plan);
  task.meta.summary = figures;
  expect(figures.kills).toBeGreaterThan(0);
});
