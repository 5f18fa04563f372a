import { subscriptions } from "@board/core/schema/all-tables";
import { scheduled } from "@board/api/work/schedules";
import { eq } from "drizzle-orm";
import { Webhook } from "standardwebhooks";
import { expect, test } from "vitest";
import { accept, reply } from "../support/receiver.ts";
import { BASE, setupSubscriptions } from "./subscription-fixture.ts";

const { world, home, receiver, send, subscribe, addTask, deliveriesOf } = await setupSubscriptions();

const byAttempts = (a: { attempts: number }, b: { attempts: number }) => a.attempts - b.attempts;
const SECOND = 1_000;
const MINUTE = 60 * SECOND;
const HOUR = 60 * MINUTE;

test("a committed change is posted as a Standard Webhook that its library verifies", async () => {
  const { id, secret } = await subscribe();
  const task = await addTask();
  await world.drain();
  expect(receiver.messages).toHaveLength(1);
  const [{ headers, body, json }] = receiver.messages as [(typeof receiver.messages)[number]];
  expect(new Webhook(secret).verify(body, headers as unknown as Record<string, string>)).toEqual(json);
  expect(json).toEqual({
    type: "task.created",
    timestamp: json.data.occurred_at,
    data: {
      version: 1,
      id: headers["webhook-id"],
      type: "task.created",
      occurred_at: expect.any(String),
      organization_id: home.organization_id,
      board_id: home.board_id,
      actor: { type: "user", id: expect.any(String) },
      subject: { type: "task", id: task.id },
      status: "inbox",
      assigned_agent_id: null,
      sequence: expect.stringMatching(/^\d{20}\.\d{19}$/),
    },
  });
  expect(headers).toMatchObject({ "content-type": "application/json", "user-agent": "board-coordination" });
  expect(await deliveriesOf({ id })).toMatchObject([
    { status: "delivered", attempts: 1, event_type: "task.created", response_status: 204, next_attempt_at: null },
  ]);
});

test("a change that fails is not posted to any receiver", async () => {
  const subscription = await subscribe();
  const answer = await world.call("POST", `/api/v1/boards/${home.board_id}/tasks`, {
    token: home.owner.token,
    body: { title: "Depends on nothing", depends_on_task_ids: [crypto.randomUUID()] },
  });
  expect(answer.status).toBeGreaterThanOrEqual(400);
  await world.drain();
  expect(receiver.messages).toEqual([]);
  expect(await deliveriesOf(subscription)).toEqual([]);
});

test("the sequence of an event, compared as text, gives the order of the changes", async () => {
  await subscribe();
  const tasks = [await addTask("one"), await addTask("two"), await addTask("three")];
  await world.drain();
  const sorted = receiver.messages.map(({ json }) => json.data).toSorted((a, b) => (a.sequence < b.sequence ? -1 : 1));
  expect(sorted.map(({ subject }) => subject.id)).toEqual(tasks.map(({ id }) => id));
});

test.each([
  [["task.completed"], ["task.completed"]],
  [["task.*"], ["task.created", "task.updated", "task.assigned", "task.completed"]],
  [["*.created", "approval.*"], ["task.created"]],
  [["agent.*"], []],
])("a subscription to %j gets only these events", async (event_types, expected) => {
  await send("PATCH", `/api/v1/boards/${home.board_id}`, { require_approval_for_done: false });
  await subscribe({ event_types });
  const { id } = await addTask();
  for (const status of ["in_progress", "review", "done"])
    await send("PATCH", `/api/v1/boards/${home.board_id}/tasks/${id}`, { status });
  await world.drain();
  expect(new Set(receiver.messages.map(({ json }) => json.type))).toEqual(new Set(expected));
});

test("a board's subscription gets only the events of that board, and an organization's the events of all boards", async () => {
  const other = await send("POST", "/api/v1/boards", {
    name: "Other",
    description: "Another board",
    gateway_id: home.gateway_id,
  });
  const ofBoard = await subscribe({}, `/api/v1/boards/${home.board_id}/subscriptions`);
  const ofAll = await subscribe({ url: `${receiver.url}?all` });
  await send("POST", `/api/v1/boards/${other.id}/tasks`, { title: "Elsewhere" });
  await addTask();
  await world.drain();
  expect(await deliveriesOf(ofAll)).toHaveLength(2);
  const { items } = await send("GET", `/api/v1/boards/${home.board_id}/subscriptions/${ofBoard.id}/deliveries`);
  expect(items).toHaveLength(1);
});

test("with ten subscriptions a change of a task runs no more statements than without one", async () => {
  const count = async (change: () => Promise<unknown>) => {
    return world.countStatements(() => change());
  };
  const { id } = await addTask();
  const setStatus = (status: string) => send("PATCH", `/api/v1/boards/${home.board_id}/tasks/${id}`, { status });
  const changes = [() => addTask(), () => setStatus("in_progress"), () => setStatus("inbox")];
  const countAll = async () => {
    const counts: number[] = [];
    for (const change of changes) counts.push(await count(change));
    return counts;
  };
  await countAll();
  const without = await countAll();
  for (let index = 0; index < 10; index++) await subscribe({ url: `${receiver.url}?${index}` });
  expect(await countAll()).toEqual(without);
  await world.drain();
  expect(receiver.messages).toHaveLength(10 * changes.length);
});

test("an event is sent at once, then again after 5 s, 5 min, 30 min, 2 h, 5 h, 10 h and 10 h, and then the delivery has failed", async () => {
  const subscription = await subscribe();
  receiver.answer = reply(500, "broken");
  await addTask();
  await world.drain();
  for (const wait of [5 * SECOND, 5 * MINUTE, 30 * MINUTE, 2 * HOUR, 5 * HOUR, 10 * HOUR, 10 * HOUR]) {
    const sent = receiver.messages.length;
    const [pending] = await deliveriesOf(subscription);
    expect(pending).toMatchObject({ status: "pending", last_error: "The receiver answered 500.", response_status: 500 });
    const planned = Date.parse(pending.next_attempt_at) - Date.parse(pending.last_attempt_at);
    expect(Math.abs(planned / wait - 1)).toBeLessThan(0.2 + 2_000 / wait);
    world.elapse(0.8 * wait);
    await world.drain();
    expect(receiver.messages).toHaveLength(sent);
    world.elapse(0.4 * wait);
    await world.drain();
    expect(receiver.messages).toHaveLength(sent + 1);
  }
  expect(await deliveriesOf(subscription, "?status=failed")).toMatchObject([{ attempts: 8, next_attempt_at: null }]);
  expect(new Set(receiver.messages.map(({ headers }) => headers["webhook-id"])).size).toBe(1);
  expect(world.log.filter(({ event, kind }) => event === "jobs.dead" && kind === "subscription.deliver")).toEqual([]);
});

test("an event is delivered once the receiver is back, with the same id and a signature made at that time", async () => {
  const { id, secret } = await subscribe();
  receiver.answer = reply(503);
  await addTask();
  await world.drain();
  receiver.answer = accept;
  world.elapse(10 * SECOND);
  await world.drain();
  const [first, second] = receiver.messages.map(({ headers }) => headers);
  expect(second!["webhook-id"]).toBe(first!["webhook-id"]);
  expect(Number(second!["webhook-timestamp"])).toBeGreaterThanOrEqual(Number(first!["webhook-timestamp"]) + 9);
  expect(await deliveriesOf({ id })).toMatchObject([{ status: "delivered", attempts: 2, last_error: null }]);
  expect(secret).toMatch(/^whsec_/);
  expect(await send("GET", `${BASE}/${id}`)).toMatchObject({ failing_since: null });
});

test.each([
  ["1800", 30 * MINUTE],
  ["999999", HOUR],
  ["garbage", 5 * SECOND],
  ["-5", 5 * SECOND],
])("Retry-After %s delays the next attempt, by an hour at most", async (value, wait) => {
  const subscription = await subscribe();
  receiver.answer = reply(429, "", { "retry-after": value });
  await addTask();
  await world.drain();
  const [{ next_attempt_at, last_attempt_at }] = await deliveriesOf(subscription);
  const planned = Date.parse(next_attempt_at) - Date.parse(last_attempt_at);
  expect(planned).toBeGreaterThan(0.85 * wait);
  expect(planned).toBeLessThan(1.15 * wait + 5 * SECOND);
});

test("410 switches a subscription off at once, with an event in the activity log that shows no path", async () => {
  const subscription = await subscribe({ url: `${receiver.url}/hook-key` });
  receiver.answer = reply(410);
  await addTask("one");
  await addTask("two");
  await world.drain();
  expect(receiver.messages).toHaveLength(1);
  expect(await send("GET", `${BASE}/${subscription.id}`)).toMatchObject({
    active: false,
    disabled_reason: "The receiver answered 410 Gone.",
  });
  const failed = (await deliveriesOf(subscription, "?status=failed")).toSorted(byAttempts);
  expect(failed).toMatchObject([
    { last_error: "The subscription is not active.", attempts: 0 },
    { last_error: "The receiver answered 410.", attempts: 1 },
  ]);
  const { items } = await send("GET", "/api/v1/activity?event_type=subscription.disabled&limit=1");
  expect(items[0]?.message).toBe("Subscription to 127.0.0.1 was switched off. The receiver answered 410 Gone.");
  await addTask("three");
  expect(await deliveriesOf(subscription)).toHaveLength(2);
});

test("a subscription whose attempts all failed for five days is switched off, and one success in between keeps it on", async () => {
  const subscription = await subscribe();
  const isActive = async () => (await send("GET", `${BASE}/${subscription.id}`)).active;
  const fail = async (days: number) => {
    receiver.answer = reply(500);
    world.elapse(days * 24 * HOUR);
    await addTask();
    await world.drain();
  };
  await fail(0);
  await fail(4);
  receiver.answer = accept;
  await addTask();
  await world.drain();
  world.elapse(HOUR);
  await world.drain();
  await fail(0);
  await fail(4.5);
  expect(await isActive()).toBe(true);
  await fail(0.6);
  expect(await isActive()).toBe(false);
  expect(await send("PATCH", `${BASE}/${subscription.id}`, { active: true })).toMatchObject({
    active: true,
    disabled_reason: null,
    failing_since: null,
  });
});

test("a rotated secret signs together with the old one for a day, then alone, and the old one is erased", async () => {
  const { id, secret: old } = await subscribe();
  const { secret } = await send("POST", `${BASE}/${id}/secret`);
  expect(secret).not.toBe(old);
  const isSignedBy = (key: string) => {
    const { body, headers } = receiver.messages.at(-1)!;
    try {
      // The library compares the time with the clock of the machine.
      const now = String(Math.floor(Date.now() / 1000));
      const expected = new Webhook(key).sign(headers["webhook-id"], new Date(Number(headers["webhook-timestamp"]) * 1000), body);
      return now !== "" && String(headers["webhook-signature"]).split(" ").includes(expected);
    } catch {
      return false;
    }
  };
  await addTask();
  await world.drain();
  expect([isSignedBy(old), isSignedBy(secret)]).toEqual([true, true]);
  world.elapse(25 * HOUR);
  await addTask();
  await world.drain();
  expect([isSignedBy(old), isSignedBy(secret)]).toEqual([false, true]);
  const rowOf = async () => (await world.db.select().from(subscriptions).where(eq(subscriptions.id, id)))[0]!;
  const { updated_at } = await rowOf();
  await scheduled.retention(world.context());
  expect(await rowOf()).toMatchObject({ previous_secret_sealed: null, previous_secret_until: null, updated_at });
});

test("the Slack format is one line of text with a link to the console", async () => {
  await subscribe({ format: "slack" });
  const task = await addTask();
  await world.drain();
  expect(receiver.messages[0]!.json).toEqual({
    text: `*task.created* · task ${task.id} · inbox · by a person · <${world.settings.service_url}/?board=${home.board_id}|Open>`,
  });
});

test("the answer to a test message has the receiver's status, time and first 1,000 characters, and nothing is stored", async () => {
  const subscription = await subscribe({ active: false });
  receiver.answer = reply(418, "x".repeat(5_000));
  expect(await send("POST", `${BASE}/${subscription.id}/test`)).toEqual({
    ok: false,
    status_code: 418,
    duration_ms: expect.any(Number),
    body: "x".repeat(1_000),
    error: "The receiver answered 418.",
  });
  expect(receiver.messages[0]!.json).toMatchObject({ type: "subscription.test", data: { subscription_id: subscription.id } });
  expect(await deliveriesOf(subscription)).toEqual([]);
});
