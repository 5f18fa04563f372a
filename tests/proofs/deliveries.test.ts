/** A small version of `npm run test:deliveries`, which makes 10,000 changes. */
import { test } from "vitest";
import { setup } from "../support/fixtures.ts";
import { runDeliveries } from "./deliveries/run.ts";
import { startProcessPool } from "./load/process-pool.ts";
import { withSeed } from "./load/random.ts";

const crew = await setup(startProcessPool(1));

// oxlint-disable-next-line vitest/expect-expect -- runDeliveries has them
test("each of 60 changes is delivered or shown as failed while receivers, the queue and processes fail at random", {
  timeout: 300_000,
}, async () => {
  const plan = { changes: 60, clients: 4, processes: 2, mean_life: 1_200 };
  await withSeed((seed) => runDeliveries(crew, { seed, ...plan }));
});
