import { afterAll, beforeAll, expect, test } from "vitest";
import type { FakeGateway } from "../packages/local/src/fake-gateway/server.ts";
import { type Crew, startCrew } from "./support/crashes/processes.ts";
import { seedOfRun } from "./support/crashes/random.ts";
import { scenarios } from "./support/crashes/scenarios/all.ts";
import { prepareServer, setStage, type Stage, startHost } from "./support/crashes/stage.ts";
import { storm } from "./support/crashes/storm.ts";
import { expectPromisesKept } from "./support/crashes/storm-promises.ts";
import { walkOnce } from "./support/crashes/walk.ts";
import { type Postgres, startPostgres } from "./support/postgres.ts";

// What is tried here is a part of `npm run test:crashes`, which kills at every moment there is.
let postgres: Postgres;
let crew: Crew;
let stage: Stage;
let host: FakeGateway;

beforeAll(async () => {
  [postgres, crew, host] = await Promise.all([startPostgres(), startCrew(1), startHost()]);
  await prepareServer(postgres);
  stage = await setStage(postgres, crew);
});
afterAll(async () => {
  await host.close();
  await crew.close();
  await postgres.stop();
});

const moments: [keyof typeof scenarios, string][] = [
  ["post", 'database, after: with "write_0" as (insert into "board_webhook_payloads"'],
  ["post", "queue, before"],
  ["post", "gateway, after: chat.send"],
  ["provisioning", "database, after: commit"],
  ["provisioning", "gateway, after: agents.create"],
  ["provisioning", "gateway, after: agents.files.set"],
  ["provisioning", "gateway, before: chat.send"],
  ["sync", "gateway, after: agents.files.set"],
  ["sync", "gateway, after: config.patch"],
  ["syncRun", "gateway, after: agents.files.set"],
  ["syncRun", "gateway, before: sessions.reset"],
  ["deletion", "database, before: commit"],
  ["deletion", "database, after: commit"],
  ["deletion", "gateway, after: agents.delete"],
];

test.each(moments)("kill -9 in the scenario %s at «%s»: nothing is lost, doubled or stuck", async (name, moment) => {
  const forgetful = moments.findIndex((one) => one[0] === name && one[1] === moment) % 2 === 0;
  const walked = await walkOnce(crew, { scenario: scenarios[name], stage, host }, { deaths: [moment], forgetful });
  expect(walked.moments).toEqual([expect.stringContaining(moment)]);
});

// oxlint-disable-next-line vitest/expect-expect -- expectPromisesKept has them
test("posts by many, while hosts, queue and processes fail at random: stored once, heard once, in order", {
  timeout: 120_000,
}, async () => {
  const plan = { seed: seedOfRun(), posts: 200, clients: 8, processes: 2, mean_life: 700, organizations: 2, boards: 2 };
  await storm({ postgres, crew }, plan, expectPromisesKept).catch((cause: unknown) => {
    throw new Error(`SEED=${plan.seed}`, { cause });
  });
});
