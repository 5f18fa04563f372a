import { expect, test } from "vitest";
import { setup } from "../../support/fixtures.ts";
import { startProcessPool } from "../load/process-pool.ts";
import { seedOfRun } from "../load/random.ts";
import { scenarios } from "./scenarios/all.ts";
import { createSnapshot } from "./snapshot.ts";
import { type Walked, walkAll, type Walks } from "./walk.ts";

const CONCURRENCY = 2;
const DOUBLE_CRASHES = 40;
const seed = seedOfRun();
const crew = await setup(startProcessPool(CONCURRENCY));
const stage = await createSnapshot(crew);

test.for(Object.values(scenarios))(
  "after kill -9 at every crash point of the scenario «$name», nothing is lost, duplicated or stuck",
  async (scenario, { task }) => {
    const walks = await walkAll(crew, { scenario, stage }, { concurrency: CONCURRENCY, doubles: DOUBLE_CRASHES, seed });
    task.meta.summary = { scenario: scenario.name, seed, ...summarize(walks) };
    expect(walks.failures.join("\n\n"), `SEED=${seed}`).toBe("");
  },
);

function summarize({ single, double, failures }: Walks): Record<string, string | number> {
  const at = (place: string) => single.filter(({ crash_points }) => crash_points[0]!.startsWith(place)).length;
  const all = [...single, ...double];
  const count = (which: (walked: Walked) => boolean) => all.filter(which).length;
  const remarks = [...new Set(all.flatMap(({ remark }) => remark ?? []))];
  return {
    moments: single.length,
    "at the database": at("database"),
    "at the gateway": at("gateway"),
    "at the queue": at("queue"),
    "two kills": double.length,
    unanswered: count(({ unanswered }) => unanswered),
    "repeats that the host dropped": all.reduce((sum, { repeats }) => sum + repeats, 0),
    broken: failures.length,
    remarks: remarks.map((remark) => `${remark} (${count((walked) => walked.remark === remark)})`).join(", "),
  };
}
