/** Kills processes at a few crash points. `npm run test:crashes` kills at every possible moment. */
import { expect, test } from "vitest";
import { setup } from "../support/fixtures.ts";
import { runChaos } from "./crashes/chaos.ts";
import { runHolders } from "./crashes/holders.ts";
import { scenarios } from "./crashes/scenarios/all.ts";
import { createSnapshot } from "./crashes/snapshot.ts";
import { walkOnce } from "./crashes/walk.ts";
import { startHost } from "./load/hosts.ts";
import { startProcessPool } from "./load/process-pool.ts";
import { withSeed } from "./load/random.ts";

const crew = await setup(startProcessPool(1));
const host = await setup(startHost());
const stage = await createSnapshot(crew);

const moments: [keyof typeof scenarios, string][] = [
  ["post", 'database, after: with "write_0" as (insert into "board_webhook_payloads"'],
  ["subscription", 'database, before: update "subscription_deliveries"'],
  ["post", "gateway, after: chat.send"],
  ["redelivery", "database, after: commit"],
  ["provisioning", "gateway, after: agents.create"],
  ["provisioning", "gateway, before: chat.send"],
  ["sync", "gateway, after: agents.files.set"],
  ["syncRun", "gateway, before: sessions.reset"],
  ["deletion", "database, after: commit"],
  ["claim", "database, after: commit"],
  ["expiry", 'database, after: update "tasks" set "status"'],
  ["repeatedPost", 'database, after: with "write_0" as (insert into "webhook_delivery_ids"'],
  ["inbox", "database, after: with acknowledged as"],
];

test.each(moments)("after kill -9 in the scenario %s at «%s», nothing is lost, duplicated or stuck", async (name, moment) => {
  const loses_messages = moments.findIndex((entry) => entry[0] === name && entry[1] === moment) % 2 === 0;
  const walked = await walkOnce(crew, { scenario: scenarios[name], stage, host }, { deaths: [moment], loses_messages });
  expect(walked.crash_points).toEqual([expect.stringContaining(moment)]);
});

test("while agents that hold tasks are killed, each task is done once and no late write succeeds", {
  timeout: 120_000,
}, async () => {
  const { late_writes } = await withSeed((seed) => runHolders({ seed, tasks: 20, kills: 100, agents: 4 }));
  expect(late_writes, "agents that were killed left writes behind").toBeGreaterThan(0);
});

// oxlint-disable-next-line vitest/expect-expect -- runChaos has them
test("concurrent posts are stored and delivered once and in order while hosts, the queue and processes fail at random", {
  timeout: 120_000,
}, async () => {
  const plan = { posts: 200, clients: 8, processes: 2, mean_life: 700, organizations: 2, boards: 2 };
  await withSeed((seed) => runChaos(crew, { seed, ...plan }));
});
