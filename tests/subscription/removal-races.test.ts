import { jobs, subscription_deliveries } from "@board/core/schema/all-tables";
import { eq } from "drizzle-orm";
import { expect, test } from "vitest";
import { untilServiceIsVictim, waitForBlockedStatement } from "../support/blocked-statement.ts";
import { openGoneReceiverWorld } from "../support/gone-receiver-world.ts";
import { setup } from "../support/fixtures.ts";
import { BASE } from "./subscription-fixture.ts";

const ROUNDS = Array.from({ length: 5 }, (_, n) => n + 1);
const DELIVERIES = 20;

/** Uses a real server, because a deadlock takes several connections. */
const { world, receiver_url } = await setup(openGoneReceiverWorld());

test.each(ROUNDS)("a subscription can be removed while its deliveries are sent again (round %i)", async (round) => {
  const home = await world.tenant(`removed ${round}`);
  const { token } = home.owner;
  const send = (method: string, path: string, body?: object) => world.call(method, path, { token, body });
  const { body: subscription } = await send("POST", BASE, { url: receiver_url, event_types: ["task.created"] });
  const own = `${BASE}/${subscription.id}`;
  for (let n = 0; n < DELIVERIES; n++) await send("POST", `/api/v1/boards/${home.board_id}/tasks`, { title: `Task ${n}` });
  await world.drain();
  await send("PATCH", own, { active: true });
  const { items } = (await send("GET", `${own}/deliveries?limit=${DELIVERIES}`)).body;
  expect(items).toHaveLength(DELIVERIES);
  const answers = await Promise.all([
    ...items.slice(0, 10).map(({ id }: { id: string }) => send("POST", `${own}/deliveries/${id}/redeliver`)),
    send("DELETE", own),
    send("POST", `${own}/recover`, { since: new Date(0).toISOString() }),
    ...items.slice(10).map(({ id }: { id: string }) => send("POST", `${own}/deliveries/${id}/redeliver`)),
  ]);
  const statuses = answers.map(({ status }) => status);
  expect(statuses.filter((status) => ![200, 202, 404].includes(status))).toEqual([]);
  expect(answers[10]!.status).toBe(200);
  expect((await send("GET", own)).status).toBe(404);
});

test("a redelivery that the database undoes to end a deadlock is repeated, and succeeds", async () => {
  await untilServiceIsVictim(async (round) => {
    const home = await world.tenant(`deadlock ${round}`);
    const send = (method: string, path: string, body?: object) => world.call(method, path, { token: home.owner.token, body });
    const { body: subscription } = await send("POST", BASE, { url: receiver_url, event_types: ["task.created"] });
    await send("POST", `/api/v1/boards/${home.board_id}/tasks`, { title: "Task" });
    const own = `${BASE}/${subscription.id}/deliveries`;
    const [{ id }] = (await send("GET", own)).body.items;
    const locked = Promise.withResolvers<void>();
    const isBlocked = Promise.withResolvers<void>();
    const other = world.db.transaction(async (db) => {
      await db.select().from(subscription_deliveries).where(eq(subscription_deliveries.id, id)).for("update");
      locked.resolve();
      await isBlocked.promise;
      // The request holds the job and waits for the delivery. It began to wait first, so the deadlock ends it.
      await db.select().from(jobs).where(eq(jobs.subscription_id, subscription.id)).for("update");
    });
    await locked.promise;
    const redelivery = send("POST", `${own}/${id}/redeliver`);
    await waitForBlockedStatement(world.db);
    isBlocked.resolve();
    const [{ status, text }] = await Promise.all([redelivery, other]);
    expect([status, text]).toEqual([202, expect.any(String)]);
  });
});

test("a redelivery with the id of another organization's delivery is 404, and does not wait for that delivery's job", async () => {
  const subscribe = async (subject: string) => {
    const home = await world.tenant(subject);
    const { token } = home.owner;
    const body = { url: receiver_url, event_types: ["task.created"] };
    const { id } = (await world.call("POST", BASE, { token, body })).body;
    await world.call("POST", `/api/v1/boards/${home.board_id}/tasks`, { token, body: { title: "Task" } });
    return { token, id, delivery: (await world.call("GET", `${BASE}/${id}/deliveries`, { token })).body.items[0].id };
  };
  const [own, foreign] = [await subscribe("curious"), await subscribe("other")];
  await world.db.transaction(async (db) => {
    await db.select().from(jobs).where(eq(jobs.subscription_id, foreign.id)).for("update");
    const path = `${BASE}/${own.id}/deliveries/${foreign.delivery}/redeliver`;
    expect((await world.call("POST", path, { token: own.token })).status).toBe(404);
  });
});
