import { test } from "vitest";
import { setup } from "../../support/fixtures.ts";
import { startProcessPool } from "../load/process-pool.ts";
import { withSeed } from "../load/random.ts";
import { runChaos } from "./chaos.ts";

const crew = await setup(startProcessPool(2));

// oxlint-disable-next-line vitest/expect-expect -- runChaos has them
test("10,000 posts are stored and delivered once and in order while hosts, the queue and processes fail at random", async ({
  task,
}) => {
  const plan = { posts: 10_000, clients: 16, processes: 3, mean_life: 3_000, organizations: 3, boards: 3 };
  task.meta.summary = await withSeed((seed) => runChaos(crew, { seed, ...plan }));
});
