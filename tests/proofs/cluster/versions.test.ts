import { setTimeout as pause } from "node:timers/promises";
import { afterAll, expect, test } from "vitest";
import { cleanUpPrograms } from "../../support/program.ts";
import { openCluster } from "./cluster.ts";
import { checkOut, findLastRelease } from "./last-release.ts";
import { lossesOf, NO_LOSSES, startLoad, toFigures } from "./load.ts";

const requests_per_second = Number(process.env["RATE"] ?? 50);
const streams = Number(process.env["STREAMS"] ?? 60);
const BESIDE_MS = 10_000;

afterAll(cleanUpPrograms);

test("the last release and the current one work together while a rolling update replaces one with the other", async ({
  task,
}) => {
  const commit = findLastRelease();
  const { launcher, remove } = checkOut(commit);
  // The database already has the tables of the current version, because an update begins with the migration.
  const cluster = await openCluster(0);
  const old = [await cluster.start({}, launcher), await cluster.start({}, launcher)];
  const load = await startLoad(cluster, { requests_per_second, streams });
  for (const process of old) {
    await cluster.start();
    await pause(BESIDE_MS);
    await cluster.end(process);
  }
  await pause(BESIDE_MS);
  const result = await load.stop();
  task.meta.summary = { last_release: commit.slice(0, 10), ...toFigures(result) };
  await cluster.close();
  remove();
  expect(lossesOf(result)).toEqual(NO_LOSSES);
});
