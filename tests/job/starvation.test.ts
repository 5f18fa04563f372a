import { gateways, jobs } from "@board/core/schema/all-tables";
import { createPendingWakeups } from "@board/core/context/pending-wakeups";
import { eq } from "drizzle-orm";
import { afterEach, beforeEach, expect, test, vi } from "vitest";
import { type Consumer, startConsumer } from "../../packages/local/src/consumer.ts";
import { startFakeGateway } from "../support/fake-gateway/server.ts";
import { addNotices } from "../support/jobs.ts";
import { startSilentHost } from "../support/silent-host.ts";
import { skipProvisioning } from "../support/skip-provisioning.ts";
import { createWebhook, postPayload } from "../support/webhook.ts";
import { setup, setupWorld } from "../support/fixtures.ts";

const AGENTS = Array.from({ length: 40 }, (_, index) => `agent-${index}`);
const REFUSING_URL = "ws://127.0.0.1:9";

let consumer: Consumer;

const world = await setupWorld();
const host = await setup(startFakeGateway({ token: "test-token-123" }));
const silent = await setup(startSilentHost());
const hostile = await world.tenant("hostile");
const other = await world.tenant("other", host.url);
await skipProvisioning(world.db);

beforeEach(async () => {
  await world.db.delete(jobs);
  host.messages.length = 0;
  consumer = startConsumer(() => world.context());
});
afterEach(() => consumer.stop());

const relayAll = () => consumer.requestRelay(createPendingWakeups(true));
const setUrl = (id: string, url: string) => world.db.update(gateways).set({ url }).where(eq(gateways.id, id));
const ofHostile = () => world.db.select().from(jobs).where(eq(jobs.organization_id, hostile.organization_id));

/** Adds gateways of the hostile organization with this address, one agent each. */
async function addGateways(url: string): Promise<string[]> {
  const [row] = await world.db.select().from(gateways).where(eq(gateways.id, hostile.gateway_id));
  const added = AGENTS.map((name) => ({ ...row!, id: crypto.randomUUID(), name, url }));
  await world.db.insert(gateways).values(added);
  return added.map(({ id }) => id);
}

/** Counts the jobs of the hostile organization that have failed by the time the other organization's agent gets its webhook. */
async function failuresBeforeDelivery(): Promise<number> {
  const webhook = await createWebhook(world, other);
  relayAll();
  await vi.waitUntil(async () => (await ofHostile()).some(({ status }) => status === "running"), { timeout: 30_000 });
  await postPayload(world, webhook);
  relayAll();
  await vi.waitUntil(() => host.messages.length === 1, { timeout: 25_000 });
  return (await ofHostile()).filter(({ last_error }) => last_error !== null).length;
}

test("forty agents of one organization on a host that never answers do not delay another organization's webhook", async () => {
  await setUrl(hostile.gateway_id, silent.url);
  await addNotices(world, hostile, AGENTS);
  expect(await failuresBeforeDelivery()).toBeLessThan(AGENTS.length / 2);
});

test("forty gateways of one organization whose hosts never answer do not delay another organization's webhook", async () => {
  for (const gateway_id of await addGateways(silent.url)) await addNotices(world, { ...hostile, gateway_id }, ["agent"]);
  expect(await failuresBeforeDelivery()).toBeLessThan(AGENTS.length / 2);
});

test("forty agents on a host that refuses connections do not delay another organization's webhook", async () => {
  await setUrl(hostile.gateway_id, REFUSING_URL);
  await addNotices(world, hostile, AGENTS);
  relayAll();
  await postPayload(world, await createWebhook(world, other));
  relayAll();
  await vi.waitUntil(() => host.messages.length === 1, { timeout: 30_000 });
  await vi.waitUntil(async () => (await ofHostile()).every(({ attempts, held_by }) => attempts > 0 || held_by === "circuit"), {
    timeout: 30_000,
  });
  expect((await ofHostile()).filter(({ attempts }) => attempts === 0).length).toBeGreaterThan(AGENTS.length / 2);
});
