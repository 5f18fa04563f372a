import { afterAll, beforeAll, expect, test } from "vitest";
import { type ProcessPool, startProcessPool } from "./process-pool.ts";
import { seedOfRun } from "./random.ts";
import { scenarios } from "./scenarios/all.ts";
import { createEmptyDatabase, createSnapshot, type ScenarioSnapshot } from "./snapshot.ts";
import { type Walked, walkAll, type Walks } from "./walk.ts";
import { type Postgres, startPostgres } from "../../support/postgres.ts";

const CONCURRENCY = 2;
const DOUBLE_CRASHES = 40;
const seed = seedOfRun();
let postgres: Postgres;
let crew: ProcessPool;
let stage: ScenarioSnapshot;

beforeAll(async () => {
  [postgres, crew] = await Promise.all([startPostgres(), startProcessPool(CONCURRENCY)]);
  await createEmptyDatabase(postgres);
  stage = await createSnapshot(postgres, crew);
});
afterAll(async () => {
  await crew.close();
  await postgres.stop();
});

declare module "vitest" {
  interface TaskMeta {
    /** The figures of the test for the summary. */
    summary?: Record<string, string | number>;
  }
}

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
