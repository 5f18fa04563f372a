import { board_memory, board_webhook_payloads, jobs } from "@board/core/db/schema";
import { deliver } from "@board/core/deliver";
import { redriveJobs, relay } from "@board/core/job/job";
import { eq, sql } from "drizzle-orm";
import { afterAll, beforeAll, beforeEach, expect, test } from "vitest";
import { type FakeGateway, startFakeGateway } from "../packages/local/src/fake-gateway/server.ts";
import { addJob, jobOf, readJob, relayOnce } from "./support/jobs.ts";
import { openServerWorld, type ServerWorld } from "./support/server-world.ts";
import { createWebhook, deposit, post } from "./support/webhook.ts";
import { createWorld, type Tenant, type World } from "./support/world.ts";

const RATE = 30;
let server: ServerWorld;
let host: FakeGateway;
let world: World;
let home: Tenant;

beforeAll(async () => {
  host = await startFakeGateway({ token: "test-token-123" });
  server = await openServerWorld({ environment: { WEBHOOK_RATE_PER_MINUTE: `${RATE}` } });
  ({ world } = server);
  home = await world.tenant("home", host.url);
}, 120_000);
afterAll(async () => {
  await server?.close();
  await host?.close();
});
beforeEach(async () => {
  await world.drain();
  await world.db.delete(jobs);
  host.messages.length = 0;
  host.calls.length = 0;
});

const times = <T>(count: number, work: (index: number) => Promise<T>) =>
  Promise.all(Array.from({ length: count }, (_, index) => work(index)));
const sends = () => host.calls.filter((call) => call.method === "chat.send").length;

test("twenty deliveries of one job at once run it once", async () => {
  host.faults.delays_ms["chat.send"] = 50;
  const { id } = await jobOf(world, await deposit(world, await createWebhook(world, home)));
  await times(20, () => deliver(world.context(), id));
  delete host.faults.delays_ms["chat.send"];
  expect([sends(), await readJob(world, id)]).toMatchObject([1, { status: "done", attempts: 1 }]);
});

test("relays at once share the work: every job is sent, and none twice", async () => {
  const ids = await times(120, () => addJob(world, home));
  const sent: string[] = [];
  const relayAll = async () => {
    for (let batch = await relayOnce(world); batch.length > 0; batch = await relayOnce(world)) {
      expect(batch.length).toBeLessThanOrEqual(10);
      sent.push(...batch.map((wakeUp) => wakeUp.id));
    }
  };
  await times(6, relayAll);
  // Whoever found only rows that the others had locked has stopped early.
  await relayAll();
  expect(sent.toSorted()).toEqual(ids.toSorted());
});

test("while a relay waits for the queue, no transaction is open and the job can be worked on", async () => {
  const id = await addJob(world, home);
  await relay(world.context(), async () => {
    await deliver(world.context(), id);
    return { failed: [] };
  });
  expect((await readJob(world, id)).status).toBe("done");
});

test("of two jobs of one lane that are taken at the same moment one runs, and the other comes after it", async () => {
  const [first, second] = [await addJob(world, home, { lane: "a" }), await addJob(world, home, { lane: "a" })];
  await world.db.update(jobs).set({ status: "dead" }).where(eq(jobs.id, first));
  let late: Promise<void> | undefined;
  await world.db.transaction(async (other) => {
    // Another worker is just taking the second job, while the first comes back in front of it.
    await other.update(jobs).set({ status: "running", attempts: 1, lease_until: world.now() }).where(eq(jobs.id, second));
    await redriveJobs(world.context(), [first]);
    late = deliver(world.context(), first);
    const blocked = () => world.db.$count(sql`pg_locks`, sql`not granted`);
    for (let round = 0; round < 500 && (await blocked()) === 0; round++);
  });
  await late;
  const statuses = async () => [(await readJob(world, first)).status, (await readJob(world, second)).status];
  expect(await statuses()).toEqual(["queued", "running"]);
  await world.drain();
  expect(await statuses()).toEqual(["done", "done"]);
});

test("eight workers at once keep the order of each agent's messages and send each once", async () => {
  const webhooks = [await createWebhook(world, home), await createWebhook(world, home, { agent_id: home.worker.id })];
  const POSTS = 20;
  for (let n = 0; n < POSTS; n++) for (const webhook of webhooks) await deposit(world, webhook, `post ${n}`);
  const waiting: string[] = [];
  await times(8, async () => {
    for (let round = 0; round < 1_000 && host.messages.length < 2 * POSTS; round++) {
      waiting.push(...(await relayOnce(world)).map((wakeUp) => wakeUp.id));
      const id = waiting.shift();
      // Every wake-up comes twice, as a queue may deliver it.
      if (id) await Promise.all([deliver(world.context(), id), deliver(world.context(), id)]);
    }
  });
  for (const { session_key } of [home.lead, home.worker]) {
    const own = host.messages.filter((message) => message.session_key === session_key);
    expect(own.map(({ message }) => message.split("\n").at(-2))).toEqual(Array.from({ length: POSTS }, (_, n) => `post ${n}`));
  }
  expect(sends()).toBe(2 * POSTS);
});

test("posts that come at once share one rate, across processes, and every accepted one is whole", async () => {
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
