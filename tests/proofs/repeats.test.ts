import { expect, test } from "vitest";
import { seedOfRun } from "./crashes/random.ts";
import { runRepeats } from "./repeats/run.ts";

// This is a small part of `npm run test:repeats`.
test("repeated POSTs have one effect and one answer for each key while a process is killed", { timeout: 120_000 }, async () => {
  const seed = seedOfRun();
  const plan = { seed, posts: 300, clients: 8, processes: 2, posts_per_kill: 200, posts_per_lost_connection: 30 };
  const figures = await runRepeats(plan).catch((cause: unknown) => {
    throw new Error(`SEED=${seed}`, { cause });
  });
  expect(figures.kills).toBe(1);
  expect(figures.replayed).toBeGreaterThan(0);
});
