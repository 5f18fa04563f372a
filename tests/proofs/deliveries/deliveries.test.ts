import { test } from "vitest";
import { setup } from "../../support/fixtures.ts";
import { startProcessPool } from "../load/process-pool.ts";
import { withSeed } from "../load/random.ts";
import { runDeliveries } from "./run.ts";

const changes = Number(process.env["CHANGES"] ?? 10_000);
const crew = await setup(startProcessPool(2));

// oxlint-disable-next-line vitest/expect-expect -- runDeliveries has them
test("each change is delivered or shown as failed while receivers, the queue and processes fail at random", async ({ task }) => {
  const plan = { changes, clients: 12, processes: 3, mean_life: 3_000 };
  task.meta.summary = await withSeed((seed) => runDeliveries(crew, { seed, ...plan }));
});
