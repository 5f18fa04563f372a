import { expect, onTestFinished, test } from "vitest";
import { fuzz } from "./fuzz/run.ts";
import { startFuzzEnvironment } from "./fuzz/environment.ts";
import { createWorld } from "../support/world.ts";

/** The same requests in every run; `npm run test:fuzz` sends random ones. */
const SEED = 20_261_121;

test("every answer to generated requests matches the OpenAPI document, and no other organization is changed", async () => {
  const environment = await startFuzzEnvironment();
  onTestFinished(() => environment.close());
  const world = await createWorld(environment.world);
  onTestFinished(() => world.close());
  const { failures, changed } = await fuzz(world, {
    seed: SEED,
    requests: 1_200,
    clients: 1,
    hosts: environment.hosts,
    receiver: environment.receiver,
  });
  expect({ failures, changed }).toEqual({ failures: [], changed: [] });
});
