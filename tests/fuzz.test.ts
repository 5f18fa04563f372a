import { expect, onTestFinished, test } from "vitest";
import { fuzz } from "./support/fuzz/run.ts";
import { startStage } from "./support/fuzz/stage.ts";
import { createWorld } from "./support/world.ts";

/** The same requests every time; `npm run test:fuzz` sends others. */
const SEED = 20_261_121;

test("whatever is sent to whichever operation, the answer is what the document promises, and nothing else changes", async () => {
  const stage = await startStage();
  onTestFinished(() => stage.close());
  const world = await createWorld(stage.world);
  onTestFinished(() => world.close());
  const { failures, changed } = await fuzz(world, { seed: SEED, requests: 2_000, clients: 1, hosts: stage.hosts });
  expect({ failures, changed }).toEqual({ failures: [], changed: [] });
}, 300_000);
