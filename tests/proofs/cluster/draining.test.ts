import { setTimeout as pause } from "node:timers/promises";
import { afterAll, expect, test } from "vitest";
import { cleanUpPrograms } from "../../support/program.ts";
import { openCluster } from "./cluster.ts";
import { lossesOf, NO_LOSSES, startLoad, toFigures } from "./load.ts";

const PROCESSES = 3;
const CHECK_MS = 250;
/** Many times the interval of the checks, because a busy machine makes them late. */
const DRAIN_SECONDS = "8";
const RETURN_MS = 5_000;
const requests_per_second = Number(process.env["RATE"] ?? 20);
const streams = Number(process.env["STREAMS"] ?? 20);

afterAll(cleanUpPrograms);

test("with a balancer that checks /readyz, and successors that start first, a rolling restart cuts and refuses no request", async ({
  task,
}) => {
  const cluster = await openCluster(PROCESSES, { DRAIN_SECONDS }, CHECK_MS);
  const load = await startLoad(cluster, { requests_per_second, streams });
  for (const old of cluster.processes.slice()) {
    await cluster.start();
    await cluster.end(old);
  }
  // In this time, the clients whose streams ended last connect again.
  await pause(RETURN_MS);
  const result = await load.stop();
  task.meta.summary = { requests_per_second, streams, ...toFigures(result) };
  await cluster.close();
  expect(lossesOf(result)).toEqual(NO_LOSSES);
  expect(result.repeated).toBe(0);
  expect(result.reconnects, "every stream was moved").toBeGreaterThanOrEqual(streams);
});
