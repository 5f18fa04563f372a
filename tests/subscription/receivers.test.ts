import { type AddressInfo, createServer } from "node:net";
import { jobs, subscription_deliveries, subscriptions } from "@board/core/schema/all-tables";
import { deliver } from "@board/api/work/handlers";
import { runScheduled } from "@board/api/work/schedules";
import { createHttpClient, locateAllowedReceiver } from "@board/core/http/https-client";
import type { ResolveName } from "@board/core/dns/address";
import { dedupeKey } from "@board/core/subscription/store";
import { eq } from "drizzle-orm";
import { beforeEach, expect, onTestFinished, test } from "vitest";
import { setup, setupWorld } from "../support/fixtures.ts";
import { addJob } from "../support/jobs.ts";
import { accept, reply, startReceiver } from "../support/receiver.ts";
import { createWorld } from "../support/world.ts";

const BASE = "/api/v1/subscriptions";
const RULE = "The url must be https, at a public host and port 443.";

/** What the name `moving.example` resolves to. */
let moving = "93.184.215.14";
const resolve: ResolveName = async () => [{ address: moving, family: 4 }];
/** Only this host may have a private address. */
const rules = { allowed_hosts: ["127.0.0.1"], private_addresses_allowed: false };

const receiver = await setup(startReceiver());
const world = await setupWorld({
  environment: { SUBSCRIPTION_ALLOWED_HOSTS: rules.allowed_hosts.join(",") },
  web: createHttpClient({ locateReceiver: locateAllowedReceiver(resolve, rules) }),
});
const home = await world.tenant("home");

beforeEach(async () => {
  await world.db.delete(subscriptions);
  await world.drain();
  receiver.messages.length = 0;
  receiver.answer = accept;
  moving = "93.184.215.14";
});

const post = (url: string, more: object = {}) => world.call("POST", BASE, { token: home.owner.token, body: { url, ...more } });
async function subscribe(url = receiver.url): Promise<string> {
  const answer = await post(url);
  expect(answer.status, answer.text).toBe(200);
  return answer.body.id;
}
async function addTask(): Promise<void> {
  const path = `/api/v1/boards/${home.board_id}/tasks`;
  expect((await world.call("POST", path, { token: home.owner.token, body: { title: "One" } })).status).toBe(200);
}
const deliveriesOf = async (id: string) =>
  (await world.call("GET", `${BASE}/${id}/deliveries`, { token: home.owner.token })).body.items;

test.each([
  "http://93.184.215.14/events",
  "https://93.184.215.14:8443/events",
  "https://user:secret@93.184.215.14/",
  "https://10.0.0.1/",
  "https://127.0.0.2/",
  "http://169.254.169.254/latest/meta-data",
  "https://[::1]/",
  "https://[::ffff:10.0.0.1]/",
  "https://2130706434/",
  "ftp://93.184.215.14/",
  "file:///etc/passwd",
  "javascript:alert(1)",
  "events",
])("a subscription to %s is refused", async (url) => {
  expect(await post(url)).toMatchObject({ status: 422, body: { detail: RULE } });
});

test("a name that resolves to a private address is refused, even when it does so only later", async () => {
  moving = "10.0.0.1";
  expect(await post("https://moving.example/events")).toMatchObject({ status: 422, body: { detail: RULE } });
  moving = "93.184.215.14";
  const id = await subscribe("https://moving.example/events");
  moving = "127.0.0.2";
  await addTask();
  await world.drain();
  expect(await deliveriesOf(id)).toMatchObject([{ status: "pending", attempts: 1, last_error: RULE, response_status: null }]);
});

test("a redirect is not followed and counts as a failure", async () => {
  const id = await subscribe();
  receiver.answer = reply(307, "", { location: `${receiver.url}/elsewhere` });
  await addTask();
  await world.drain();
  expect(receiver.messages).toHaveLength(1);
  expect(await deliveriesOf(id)).toMatchObject([
    { status: "pending", last_error: "The receiver redirected with 307; redirects are not followed." },
  ]);
});

test("a receiver that closes the connection or does not answer in HTTP is tried again", async () => {
  const answers = ["", "garbage\r\n\r\n", "HTTP/1.1 101 Switching Protocols\r\nupgrade: x\r\nconnection: upgrade\r\n\r\n"];
  let next = 0;
  const server = createServer((socket) => {
    socket.on("error", () => {}).once("data", () => socket.end(answers[next++ % answers.length]!));
  });
  await new Promise<void>((done) => server.listen(0, "127.0.0.1", done));
  onTestFinished(() => void server.close());
  const id = await subscribe(`http://127.0.0.1:${(server.address() as AddressInfo).port}/`);
  for (let attempt = 1; attempt <= answers.length; attempt++) {
    if (attempt === 1) await addTask();
    await world.drain();
    expect(await deliveriesOf(id)).toMatchObject([
      { status: "pending", attempts: attempt, last_error: "127.0.0.1 could not be reached." },
    ]);
    world.elapse(3_600_000);
  }
});

test("an answer of any size is read only at its start", async () => {
  const id = await subscribe();
  receiver.answer = (_request, response) => {
    response.writeHead(200);
    const more = () => {
      while (!response.destroyed && response.write("x".repeat(65_536)));
      if (!response.destroyed) response.once("drain", more);
    };
    more();
  };
  await addTask();
  await world.drain();
  expect(await deliveriesOf(id)).toMatchObject([{ status: "delivered", response_status: 200 }]);
});

test("a receiver that failed gets one message at a time until it accepts one", async () => {
  const id = await subscribe();
  receiver.answer = reply(500);
  await addTask();
  await world.drain();
  const { promise: reached, resolve: reach } = Promise.withResolvers<() => void>();
  let messages = 0;
  receiver.answer = (_request, response) => {
    messages++;
    reach(() => response.writeHead(500).end());
  };
  for (let index = 0; index < 4; index++) await addTask();
  const due = (await world.db.select().from(jobs)).filter((job) => job.subscription_id === id && job.attempts === 0);
  expect(due).toHaveLength(4);
  const first = deliver(world.context(), due[0]!.id);
  const answer = await reached;
  await Promise.all(due.slice(1).map((job) => deliver(world.context(), job.id)));
  expect(messages).toBe(1);
  const held = (await world.db.select().from(jobs)).filter((job) => job.held_by === "subscription");
  expect(held).toHaveLength(3);
  answer();
  await first;
});

test("at most twenty messages at a time are sent to one receiver, and messages to another receiver do not wait for them", async () => {
  const slow = await subscribe(`${receiver.url}?slow`);
  const other = await startReceiver();
  onTestFinished(() => other.close());
  await subscribe(other.url);
  const open: (() => void)[] = [];
  receiver.answer = (_request, response) => void open.push(() => response.writeHead(204).end());
  for (let index = 0; index < 25; index++) await addTask();
  const all = (await world.db.select().from(jobs)).filter(({ kind }) => kind === "subscription.deliver");
  const ofSlow = all.filter((job) => job.subscription_id === slow && job.status === "queued");
  const running = ofSlow.map((job) => deliver(world.context(), job.id));
  await expect.poll(() => open.length, { timeout: 10_000 }).toBe(20);
  const others = all.filter((job) => job.subscription_id !== slow && job.status === "queued");
  for (const job of others) await deliver(world.context(), job.id);
  expect(other.messages).toHaveLength(25);
  expect(open).toHaveLength(20);
  for (const end of open) end();
  await Promise.all(running);
});

test("an organization has at most as many subscriptions as its budget allows, including subscriptions of its boards", async () => {
  const small = await createWorld({ limits: { organization_subscriptions: 2 } });
  onTestFinished(() => small.close());
  const { owner, board_id } = await small.tenant("small");
  const add = (path: string) => small.call("POST", path, { token: owner.token, body: { url: "https://93.184.215.14/" } });
  const answers = await Promise.all([BASE, BASE, `/api/v1/boards/${board_id}/subscriptions`].map(add));
  expect(answers.map(({ status }) => status).toSorted((a, b) => a - b)).toEqual([200, 200, 409]);
});

test("messages that test a receiver are limited per minute", async () => {
  const started = new Date();
  const strict = await createWorld({ clock: () => started, limits: { subscription_tests_per_minute: 1 } });
  onTestFinished(() => strict.close());
  const { owner } = await strict.tenant("strict");
  const { body } = await strict.call("POST", BASE, { token: owner.token, body: { url: receiver.url } });
  const trial = () => strict.call("POST", `${BASE}/${body.id}/test`, { token: owner.token });
  expect((await trial()).status).toBe(200);
  const refused = await trial();
  expect([refused.status, refused.headers.get("retry-after") !== null]).toEqual([429, true]);
});

test("deliveries are removed after thirty days, and beyond the budget of a subscription after an hour", async () => {
  const small = await createWorld({ limits: { subscription_deliveries: 100 } });
  onTestFinished(() => small.close());
  const tenant = await small.tenant("kept");
  const { owner, board_id } = tenant;
  const { body } = await small.call("POST", BASE, { token: owner.token, body: { url: receiver.url } });
  await small.call("POST", `/api/v1/boards/${board_id}/tasks`, { token: owner.token, body: { title: "One" } });
  await small.drain();
  const [row] = await small.db.select().from(subscription_deliveries);
  const copies = Array.from({ length: 110 }, (_, index) => ({
    ...row!,
    id: crypto.randomUUID(),
    // The events of one transaction have the same time.
    created_at: new Date(small.now().getTime() - (index - (index % 8)) * 1_000),
  }));
  await small.db.insert(subscription_deliveries).values(copies);
  // The dead job of the oldest delivery was redriven, so the delivery is about to be sent again.
  const oldest = copies.at(-1)!.id;
  await small.db.update(subscription_deliveries).set({ status: "failed" }).where(eq(subscription_deliveries.id, oldest));
  await addJob(small, tenant, { dedupe_key: dedupeKey(oldest) });
  await runScheduled(small.context(), "retention");
  expect(await small.db.$count(subscription_deliveries)).toBe(101);
  expect(await small.db.$count(subscription_deliveries, eq(subscription_deliveries.id, oldest))).toBe(1);
  small.elapse(31 * 86_400_000);
  await runScheduled(small.context(), "retention");
  expect(await small.db.$count(subscription_deliveries)).toBe(0);
  expect(body.secret).toMatch(/^whsec_/);
});
