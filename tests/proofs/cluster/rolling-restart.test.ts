import { availableParallelism } from "node:os";
import { setTimeout as pause } from "node:timers/promises";
import { afterAll, expect, test } from "vitest";
import { cleanUpPrograms } from "../../support/program.ts";
import { openCluster } from "./cluster.ts";
import { lossesOf, NO_LOSSES, startLoad, toFigures } from "./load.ts";

const PROCESSES = 3;
/** A processor answers up to 50 requests a second. By default the test sends half as many, so that answers come in time. */
const RATE_PER_PROCESSOR = 25;
const STREAMS_PER_PROCESSOR = 30;
const requests_per_second = Number(process.env["RATE"] ?? RATE_PER_PROCESSOR * availableParallelism());
const streams = Number(process.env["STREAMS"] ?? STREAMS_PER_PROCESSOR * availableParallelism());
/** Time between two restarts. */
const BETWEEN_MS = 5_000;

afterAll(cleanUpPrograms);

test.for(["on", "off"])(
  "while processes are restarted in turn, no answer is wrong and no delivery or stream entry is lost, with DATABASE_NOTIFY=%s",
  async (notify, { task }) => {
    const cluster = await openCluster(PROCESSES, { DATABASE_NOTIFY: notify });
    const load = await startLoad(cluster, { requests_per_second, streams });
    await pause(BETWEEN_MS);
    for (const old of cluster.processes.slice()) {
      await cluster.end(old);
      await cluster.start();
      await pause(BETWEEN_MS);
    }
    const result = await load.stop();
    task.meta.summary = { DATABASE_NOTIFY: notify, requests_per_second, streams, ...toFigures(result) };
    await cluster.close();
    expect(lossesOf(result)).toEqual(NO_LOSSES);
    expect(result.reconnects, "every stream was moved").toBeGreaterThanOrEqual(streams);
  },
);
