import { afterAll, beforeAll, expect, test } from "vitest";
import type { FakeGateway } from "../support/fake-gateway/server.ts";
import { type ProcessPool, startProcessPool } from "./crashes/process-pool.ts";
import { seedOfRun } from "./crashes/random.ts";
import { scenarios } from "./crashes/scenarios/all.ts";
import { createEmptyDatabase, createSnapshot, type ScenarioSnapshot, startHost } from "./crashes/snapshot.ts";
import { runChaos } from "./crashes/chaos.ts";
import { expectInvariants } from "./crashes/chaos-invariants.ts";
import { runHolders } from "./crashes/holders.ts";
import { walkOnce } from "./crashes/walk.ts";
import { type Postgres, startPostgres } from "../support/postgres.ts";

// These are a few of the crash points of `npm run test:crashes`, which kills at every possible moment.
let postgres: Postgres;
let crew: ProcessPool;
let stage: ScenarioSnapshot;
let host: FakeGateway;

beforeAll(async () => {
  [postgres, crew, host] = await Promise.all([startPostgres(), startProcessPool(1), startHost()]);
  await createEmptyDatabase(postgres);
  stage = await createSnapshot(postgres, crew);
});
afterAll(async () => {
  await host.close();
  await crew.close();
  await postgres.stop();
});

const moments: [keyof typeof scenarios, string][] = [
  ["post", 'database, after: with "write_0" as (insert into "board_webhook_payloads"'],
  ["post", "queue, before"],
  ["subscription", 'database, before: update "subscription_deliveries"'],
  ["post", "gateway, after: chat.send"],
  ["redelivery", 'database, after: update "board_webhook_payloads"'],
  ["redelivery", "database, after: commit"],
  ["redelivery", "gateway, after: chat.send"],
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
  ["claim", "database, after: with home as materialized"],
  ["claim", "database, after: commit"],
  ["expiry", 'database, before: update "tasks" set "status"'],
  ["expiry", 'database, after: update "tasks" set "status"'],
  ["repeatedPost", 'database, after: with "write_0" as (insert into "webhook_delivery_ids"'],
  ["inbox", "database, before: with acknowledged as"],
  ["inbox", "database, after: with acknowledged as"],
];

test.each(moments)("after kill -9 in the scenario %s at «%s», nothing is lost, duplicated or stuck", async (name, moment) => {
  const loses_messages = moments.findIndex((entry) => entry[0] === name && entry[1] === moment) % 2 === 0;
  const walked = await walkOnce(crew, { scenario: scenarios[name], stage, host }, { deaths: [moment], loses_messages });
  expect(walked.crash_points).toEqual([expect.stringContaining(moment)]);
});

test("while agents are killed with their tasks, each task is done once and no late write lands", {
  timeout: 120_000,
}, async () => {
  const plan = { seed: seedOfRun(), tasks: 20, kills: 100, agents: 4 };
  const { late_writes } = await runHolders(postgres, plan).catch((cause: unknown) => {
    throw new Error(`SEED=${plan.seed}`, { cause });
  });
  expect(late_writes, "agents that were killed left writes behind").toBeGreaterThan(0);
});

// oxlint-disable-next-line vitest/expect-expect -- expectPromisesKept has them
test("concurrent posts are stored and delivered once and in order while hosts, the queue and processes fail at random", {
  timeout: 120_000,
}, async () => {
  const plan = { seed: seedOfRun(), posts: 200, clients: 8, processes: 2, mean_life: 700, organizations: 2, boards: 2 };
  await runChaos({ postgres, crew }, plan, expectInvariants).catch((cause: unknown) => {
    throw new Error(`SEED=${plan.seed}`, { cause });
  });
});
