import { board_memory, board_webhook_payloads, jobs } from "@board/core/schema/all-tables";
import { deliver } from "@board/api/work/handlers";
import { relay } from "@board/core/job/relay";
import { redriveJobs } from "@board/core/job/redrive";
import { eq, sql } from "drizzle-orm";
import { beforeEach, expect, test } from "vitest";
import { setup } from "../support/fixtures.ts";
import { startFakeGateway } from "../support/fake-gateway/server.ts";
import { addJob, getPayloadJob, getJob, relayOnce } from "../support/jobs.ts";
import { openServerWorld } from "../support/postgres-world.ts";
import { createWebhook, postPayload, post } from "../support/webhook.ts";
import { createWorld } from "../support/world.ts";

const RATE = 30;

const host = await setup(startFakeGateway({ token: "test-token-123" }));
const server = await setup(openServerWorld({ environment: { WEBHOOK_RATE_PER_MINUTE: `${RATE}` } }));
const { world } = server;
const home = await world.tenant("home", host.url);

beforeEach(async () => {
  await world.drain();
  await world.db.delete(jobs);
  host.messages.length = 0;
  host.calls.length = 0;
});

const times = <T>(count: number, work: (index: number) => Promise<T>) =>
  Promise.all(Array.from({ length: count }, (_, index) => work(index)));
const sends = () => host.calls.filter((call) => call.method === "chat.send").length;

test("twenty simultaneous deliveries of one job run it once", async () => {
  host.faults.delays_ms["chat.send"] = 50;
  const { id } = await getPayloadJob(world, await postPayload(world, await createWebhook(world, home)));
  await times(20, () => deliver(world.context(), id));
  delete host.faults.delays_ms["chat.send"];
  expect([sends(), await getJob(world, id)]).toMatchObject([1, { status: "done", attempts: 1 }]);
});

test("concurrent relays share the work: every job is sent once", async () => {
  const ids = await times(120, () => addJob(world, home));
  const sent: string[] = [];
  const relayAll = async () => {
    for (let batch = await relayOnce(world); batch.length > 0; batch = await relayOnce(world)) {
      expect(batch.length).toBeLessThanOrEqual(10);
      sent.push(...batch.map((wakeUp) => wakeUp.id));
    }
  };
  await times(6, relayAll);
  // A relay that found only rows locked by the others has stopped early.
  await relayAll();
  expect(sent.toSorted()).toEqual(ids.toSorted());
});

test("while a relay waits for the queue, no transaction is open and the job can be claimed", async () => {
  const id = await addJob(world, home);
  await relay(world.context(), async () => {
    await deliver(world.context(), id);
    return { failed: [] };
  });
  expect((await getJob(world, id)).status).toBe("done");
});

test("when two jobs of one lane are claimed at the same moment, one runs, and the other runs after it", async () => {
  const [first, second] = [await addJob(world, home, { lane: "a" }), await addJob(world, home, { lane: "a" })];
  await world.db.update(jobs).set({ status: "dead" }).where(eq(jobs.id, first));
  let late: Promise<void> | undefined;
  await world.db.transaction(async (other) => {
    // Another worker is just claiming the second job when the first one returns to the lane before it.
    await other.update(jobs).set({ status: "running", attempts: 1, lease_until: world.now() }).where(eq(jobs.id, second));
    await redriveJobs(world.context(), [first]);
    late = deliver(world.context(), first);
    const blocked = () => world.db.$count(sql`pg_locks`, sql`not granted`);
    for (let round = 0; round < 500 && (await blocked()) === 0; round++);
  });
  await late;
  const statuses = async () => [(await getJob(world, first)).status, (await getJob(world, second)).status];
  expect(await statuses()).toEqual(["queued", "running"]);
  await world.drain();
  expect(await statuses()).toEqual(["done", "done"]);
});

test("eight concurrent workers keep the order of each agent's messages and send each message once", async () => {
  const webhooks = [await createWebhook(world, home), await createWebhook(world, home, { agent_id: home.worker.id })];
  const POSTS = 20;
  for (let n = 0; n < POSTS; n++) for (const webhook of webhooks) await postPayload(world, webhook, `post ${n}`);
  const waiting: string[] = [];
  await times(8, async () => {
    for (let round = 0; round < 1_000 && host.messages.length < 2 * POSTS; round++) {
      waiting.push(...(await relayOnce(world)).map((wakeUp) => wakeUp.id));
      const id = waiting.shift();
      // Every wake-up is delivered twice, as a queue may do.
      if (id) await Promise.all([deliver(world.context(), id), deliver(world.context(), id)]);
    }
  });
  for (const { session_key } of [home.lead, home.worker]) {
    const own = host.messages.filter((message) => message.session_key === session_key);
    expect(own.map(({ message }) => message.split("\n").at(-2))).toEqual(Array.from({ length: POSTS }, (_, n) => `post ${n}`));
  }
  expect(sends()).toBe(2 * POSTS);
});

test("concurrent webhook posts share one rate limit across processes, and every accepted post is stored completely", async () => {
  const other = await createWorld({ database: server.database, environment: { WEBHOOK_RATE_PER_MINUTE: `${RATE}` } });
  try {
    const webhook = await createWebhook(world, home);
    const toNextMinute = 60_000 - (world.now().getTime() % 60_000);
    for (const one of [world, other]) one.elapse(toNextMinute);
    const counts = () =>
      Promise.all([world.db.$count(board_webhook_payloads), world.db.$count(board_memory), world.db.$count(jobs)]);
    const before = await counts();
    const answers = await times(2 * RATE, (index) => post(index % 2 === 0 ? world : other, webhook));
    const accepted = answers.filter((answer) => answer.status === 202);
    const refused = answers.filter((answer) => answer.status === 429);
    expect([accepted.length, refused.length]).toEqual([RATE, RATE]);
    expect(await counts()).toEqual(before.map((count) => count + RATE));
  } finally {
    await other.close();
  }
});
