import { expect, test } from "vitest";
import { withSeed } from "../load/random.ts";
import { runHolders } from "./holders.ts";

test("while up to 1,000 agents that hold one of 200 tasks are killed, each task is done once and no late write succeeds", async ({
  task,
}) => {
  const figures = await withSeed((seed) => runHolders({ seed, tasks: 200, kills: 1_000, agents: 16 }));
  task.meta.summary = figures;
  expect(figures.late_writes, "agents that were killed left writes behind").toBeGreaterThan(0);
});
