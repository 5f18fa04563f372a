import { deliver } from "@board/api/work/handlers";
import { jobs } from "@board/core/schema/all-tables";
import { MAX_CRASHES } from "@board/core/job/outcome";
import { eq } from "drizzle-orm";
import type { ServerResponse } from "node:http";
import { expect, test } from "vitest";
import { accept, reply } from "../support/receiver.ts";
import { BASE, setupSubscriptions } from "./subscription-fixture.ts";

const { world, home, receiver, send, subscribe, addTask, deliveriesOf } = await setupSubscriptions();

const HOUR = 3_600_000;

test("a redelivery sends an event again with its id, and recover sends all failed deliveries again", async () => {
  const subscription = await subscribe();
  await addTask("one");
  await world.drain();
  const [{ id }] = await deliveriesOf(subscription);
  expect(await send("POST", `${BASE}/${subscription.id}/deliveries/${id}/redeliver`)).toMatchObject({ id, status: "pending" });
  await world.drain();
  expect(receiver.messages.map(({ headers }) => headers["webhook-id"])).toEqual(
    Array(2).fill(receiver.messages[0]!.headers["webhook-id"]),
  );
  await send("PATCH", `${BASE}/${subscription.id}`, { active: true });
  await addTask("two");
  await addTask("three");
  await send("PATCH", `${BASE}/${subscription.id}`, { active: false });
  await world.drain();
  expect(await deliveriesOf(subscription, "?status=failed")).toHaveLength(2);
  const path = `${BASE}/${subscription.id}/recover`;
  const body = { since: new Date(world.now().getTime() - HOUR).toISOString() };
  expect((await world.call("POST", path, { token: home.owner.token, body })).status).toBe(409);
  await send("PATCH", `${BASE}/${subscription.id}`, { active: true });
  expect(await send("POST", path, body)).toEqual({ count: 2 });
  await world.drain();
  expect(receiver.messages).toHaveLength(4);
  expect(await deliveriesOf(subscription, "?status=failed")).toEqual([]);
});

test("a delivery whose next attempt is hours away is sent at once when it is redelivered", async () => {
  const subscription = await subscribe();
  receiver.answer = reply(500, "", { "retry-after": "3600" });
  await addTask();
  await world.drain();
  receiver.answer = accept;
  const [{ id }] = await deliveriesOf(subscription);
  await send("POST", `${BASE}/${subscription.id}/deliveries/${id}/redeliver`);
  await world.drain();
  expect(await deliveriesOf(subscription)).toMatchObject([{ status: "delivered", attempts: 2 }]);
});

test("a delivery shows the request that was sent and the receiver's last answer", async () => {
  const subscription = await subscribe();
  receiver.answer = reply(200, "thanks\0");
  await addTask();
  await world.drain();
  const [{ id }] = await deliveriesOf(subscription);
  const { body, headers } = receiver.messages[0]!;
  expect(await send("GET", `${BASE}/${subscription.id}/deliveries/${id}`)).toMatchObject({
    request: { body, headers: { "webhook-id": headers["webhook-id"], "webhook-signature": headers["webhook-signature"] } },
    response: { status: 200, body: "thanks\uFFFD", duration_ms: expect.any(Number) },
  });
});

test("the deliveries of a subscription are listed newest first, page by page", async () => {
  const subscription = await subscribe();
  for (const title of ["one", "two", "three"]) await addTask(title);
  await world.drain();
  const path = `${BASE}/${subscription.id}/deliveries?limit=2`;
  const first = await send("GET", path);
  const second = await send("GET", `${path}&cursor=${first.next_cursor}`);
  expect([first.items.length, second.items.length, second.next_cursor]).toEqual([2, 1, null]);
  expect(new Set([...first.items, ...second.items].map(({ id }: { id: string }) => id)).size).toBe(3);
  expect(await send("GET", `${path}&cursor=`)).toEqual(first);
});

const encoded = (text: string) => Buffer.from(text).toString("base64url");
const NIL = "00000000-0000-4000-8000-000000000000";

test.each([
  "garbage",
  encoded(`2026-02-30T00:00:00.000Z ${NIL}`),
  encoded(`0000-01-01T00:00:00.000Z ${NIL}`),
  encoded(`9999-99-99T00:00:00.000Z ${NIL}`),
])("a list of deliveries after the invented cursor %s is refused with 422", async (cursor) => {
  const { id } = await subscribe();
  const answer = await world.call("GET", `${BASE}/${id}/deliveries?cursor=${cursor}`, { token: home.owner.token });
  expect(answer.status).toBe(422);
});

test("a cursor of another subscription's deliveries is refused with 422", async () => {
  const [one, other] = [await subscribe(), await subscribe()];
  for (const title of ["one", "two"]) await addTask(title);
  await world.drain();
  const { next_cursor } = await send("GET", `${BASE}/${one.id}/deliveries?limit=1`);
  const path = `${BASE}/${other.id}/deliveries?limit=1&cursor=${next_cursor}`;
  expect((await world.call("GET", path, { token: home.owner.token })).status).toBe(422);
});

/** Adds a delivery whose job is dead, as when its process is killed at every attempt. */
async function addDeadDelivery(): Promise<{ subscription: { id: string }; job_id: string }> {
  const subscription = await subscribe();
  await addTask();
  const isOwn = eq(jobs.subscription_id, subscription.id);
  await world.db.update(jobs).set({ crashes: MAX_CRASHES }).where(isOwn);
  await world.drain().catch(() => {});
  const [job] = await world.db.select().from(jobs).where(isOwn);
  expect(job).toMatchObject({ status: "dead" });
  expect(await deliveriesOf(subscription)).toMatchObject([{ status: "failed", attempts: 0 }]);
  return { subscription, job_id: job!.id };
}

test("redriving the dead job of a delivery sends the delivery, which is pending until then", async () => {
  const { subscription, job_id } = await addDeadDelivery();
  await send("POST", `/api/v1/jobs/${job_id}/redrive`);
  expect(await deliveriesOf(subscription)).toMatchObject([{ status: "pending", next_attempt_at: expect.any(String) }]);
  expect(await deliveriesOf(subscription, "?status=pending")).toHaveLength(1);
  expect(await deliveriesOf(subscription, "?status=failed")).toEqual([]);
  let whileSent: unknown;
  receiver.answer = (request, response) => {
    void deliveriesOf(subscription).then((deliveries) => {
      whileSent = deliveries;
      accept(request, response);
    });
  };
  await world.drain();
  expect(whileSent).toMatchObject([{ status: "pending", next_attempt_at: null }]);
  expect(receiver.messages).toHaveLength(1);
  expect(await deliveriesOf(subscription)).toMatchObject([{ status: "delivered", attempts: 1 }]);
});

test("redriving a dead job does not repeat a delivery that was redelivered since", async () => {
  const { subscription, job_id } = await addDeadDelivery();
  const [{ id }] = await deliveriesOf(subscription);
  await send("POST", `${BASE}/${subscription.id}/deliveries/${id}/redeliver`);
  await world.drain();
  await send("POST", `/api/v1/jobs/${job_id}/redrive`);
  await world.drain();
  expect(receiver.messages).toHaveLength(1);
  expect(await deliveriesOf(subscription)).toMatchObject([{ status: "delivered", attempts: 1 }]);
});

test("an attempt that ends after another worker has delivered the event does not make the delivery pending again", async () => {
  const subscription = await subscribe();
  const held = Promise.withResolvers<ServerResponse>();
  receiver.answer = (_request, response) => held.resolve(response);
  await addTask();
  const [job] = await world.db.select().from(jobs).where(eq(jobs.subscription_id, subscription.id));
  const late = deliver(world.context(), job!.id);
  const response = await held.promise;
  receiver.answer = accept;
  world.elapse(60_000);
  await deliver(world.context(), job!.id);
  response.writeHead(500).end();
  await late;
  expect(receiver.messages).toHaveLength(2);
  expect(await deliveriesOf(subscription)).toMatchObject([{ status: "delivered", attempts: 1, last_error: null }]);
});
