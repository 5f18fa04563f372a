import type { Db } from "@board/core/context/db";
import { jobs } from "@board/core/schema/all-tables";
import type { JobRow } from "@board/core/job/job";
import { createPendingWakeups } from "@board/core/context/pending-wakeups";
import { DrizzleQueryError } from "drizzle-orm";
import { afterEach, beforeEach, expect, test, vi } from "vitest";
import { type Consumer, startConsumer } from "../../packages/local/src/consumer.ts";
import { createDeferredHost } from "../support/deferred-host.ts";
import { getJob, getPayloadJob } from "../support/jobs.ts";
import { createWebhook, postPayload } from "../support/webhook.ts";
import { setupWorld } from "../support/fixtures.ts";

const PAYLOADS = 6;
let host: ReturnType<typeof createDeferredHost>;
let consumer: Consumer;
let db: Db;

const world = await setupWorld();
const webhook = await createWebhook(world, await world.tenant("home"));

beforeEach(async () => {
  host = createDeferredHost();
  await world.db.delete(jobs);
  db = world.db;
  consumer = startConsumer(() => ({ ...world.context(), db, gateways: host.gateways }));
});
afterEach(() => consumer.stop());

/** Posts a payload and asks for a relay of its lane, as the local server does after each request. Returns the job. */
async function notify() {
  const job = await getPayloadJob(world, await postPayload(world, webhook));
  const wakeups = createPendingWakeups();
  wakeups.lanes.add(job.lane!);
  consumer.requestRelay(wakeups);
  return job;
}
/** Returns a database handle that runs a matching statement and then fails, as when the connection ends before the answer. */
function loseAnswers(db: Db, isLost: (text: string) => boolean): Db {
  const session = Object.create(db._.session, {
    prepareQuery: {
      value: (...args: Parameters<Db["_"]["session"]["prepareQuery"]>) => {
        const prepared = db._.session.prepareQuery(...args);
        const { sql, params } = args[0];
        if (!isLost(sql)) return prepared;
        const lose = async () => {
          await prepared.execute();
          throw new DrizzleQueryError(sql, params, new Error("Connection terminated"));
        };
        return { execute: lose };
      },
    },
  });
  return Object.create(db, { _: { value: { ...db._, session } } });
}
const statusOf = async ({ id }: { id: string }) => (await getJob(world, id)).status;

test("payloads that arrive while their agent is being notified follow in order, with three statements each", async () => {
  const first = await notify();
  await host.call(0);
  const others: JobRow[] = [];
  while (others.length < PAYLOADS) others.push(await notify());
  const costs = [];
  for (let n = 0; n < PAYLOADS; n++) {
    world.statements.length = 0;
    host.calls[n]!.answer();
    await host.call(n + 1);
    costs.push(world.statements.length);
    expect(await Promise.all([first, ...others].slice(0, n + 2).map(statusOf))).toEqual([
      ...Array(n + 1).fill("done"),
      "running",
    ]);
  }
  host.calls[PAYLOADS]!.answer();
  await vi.waitUntil(async () => (await statusOf(others.at(-1)!)) === "done", { timeout: 30_000 });
  // The first answer also records that the host is reachable.
  expect(costs.slice(1)).toEqual(Array(PAYLOADS - 1).fill(3));
});

test("a payload that arrives after its agent was idle again is notified", async () => {
  for (const turn of [0, 1]) {
    const job = await notify();
    (await host.call(turn)).answer();
    await vi.waitUntil(async () => (await statusOf(job)) === "done", { timeout: 30_000 });
  }
  expect(host.calls).toHaveLength(2);
});

test("a notification that fails stays ahead of the next one, and gets a wake-up for its next attempt", async () => {
  const first = await notify();
  const call = await host.call(0);
  const second = await notify();
  call.fail("busy");
  await vi.waitUntil(async () => (await getJob(world, first.id)).last_error !== null, { timeout: 30_000 });
  await vi.waitUntil(async () => (await getJob(world, first.id)).sent_at !== null, { timeout: 30_000 });
  expect(await getJob(world, first.id)).toMatchObject({ status: "queued", attempts: 1 });
  expect(await getJob(world, second.id)).toMatchObject({ status: "queued", attempts: 0 });
  expect(host.calls).toHaveLength(1);
});

test("a notification is sent soon even when the answer to its lease is lost with the database connection", async () => {
  const lost: string[] = [];
  const isTurn = (text: string) =>
    /^update "jobs" set .*"lease_token" = .*"sent_at" is null/s.test(text) && lost.length === 0 && lost.push(text) > 0;
  db = loseAnswers(world.db, isTurn);
  const first = await notify();
  const call = await host.call(0);
  const second = await notify();
  call.answer();
  (await host.call(1)).answer();
  await vi.waitUntil(async () => (await statusOf(second)) === "done", { timeout: 30_000 });
  expect(lost).toHaveLength(1);
  expect(await statusOf(first)).toBe("done");
});

test("two processes share the payloads of one agent, and notify it of each payload once", async () => {
  const other = startConsumer(() => ({ ...world.context(), gateways: host.gateways }));
  const all: JobRow[] = [];
  while (all.length < PAYLOADS) all.push(await notify());
  const everything = createPendingWakeups(true);
  other.requestRelay(everything);
  for (let n = 0; n < PAYLOADS; n++) {
    (await host.call(n)).answer();
    other.requestRelay(everything);
  }
  await vi.waitUntil(async () => (await Promise.all(all.map(statusOf))).every((status) => status === "done"), {
    timeout: 30_000,
  });
  await other.stop();
  expect(host.calls).toHaveLength(PAYLOADS);
});
