import { afterAll, beforeAll, expect, test } from "vitest";
import { type Crew, startCrew } from "../support/crashes/processes.ts";
import { seedOfRun } from "../support/crashes/random.ts";
import { scenarios } from "../support/crashes/scenarios/all.ts";
import { prepareServer, setStage, type Stage } from "../support/crashes/stage.ts";
import { type Walked, walkAll, type Walks } from "../support/crashes/walk.ts";
import { type Postgres, startPostgres } from "../support/postgres.ts";

const BESIDE = 2;
const DOUBLES = 40;
const seed = seedOfRun();
let postgres: Postgres;
let crew: Crew;
let stage: Stage;

beforeAll(async () => {
  [postgres, crew] = await Promise.all([startPostgres(), startCrew(BESIDE)]);
  await prepareServer(postgres);
  stage = await setStage(postgres, crew);
});
afterAll(async () => {
  await crew.close();
  await postgres.stop();
});

declare module "vitest" {
  interface TaskMeta {
    /** What there is to tell, by the name of what it is about. */
    told?: Record<string, string | number>;
  }
}

test.for(Object.values(scenarios))(
  "$name: killed at every moment, nothing is lost, doubled or stuck",
  async (scenario, { task }) => {
    const walks = await walkAll(crew, { scenario, stage }, { beside: BESIDE, doubles: DOUBLES, seed });
    task.meta.told = { scenario: scenario.name, seed, ...toldOf(walks) };
    expect(walks.failures.join("\n\n"), `SEED=${seed}`).toBe("");
  },
);

function toldOf({ single, double, failures }: Walks): Record<string, string | number> {
  const at = (place: string) => single.filter(({ moments }) => moments[0]!.startsWith(place)).length;
  const all = [...single, ...double];
  const count = (which: (walked: Walked) => boolean) => all.filter(which).length;
  const remarks = [...new Set(all.flatMap(({ remark }) => remark ?? []))];
  return {
    moments: single.length,
    "at the database": at("database"),
    "at the gateway": at("gateway"),
    "at the queue": at("queue"),
    "two deaths": double.length,
    unanswered: count(({ unanswered }) => unanswered),
    "repeats that the host dropped": all.reduce((sum, { repeats }) => sum + repeats, 0),
    broken: failures.length,
    remarks: remarks.map((remark) => `${remark} (${count((walked) => walked.remark === remark)})`).join(", "),
  };
}
