import { transaction } from "@board/core/context/context";
import { activity_events, agents, gateways, jobs } from "@board/core/schema/all-tables";
import { deliver } from "@board/api/work/handlers";
import { type AgentNotification, notify } from "@board/core/notification/notification";
import type { JobEvent } from "@board/core/job/kinds";
import { and, desc, eq, inArray } from "drizzle-orm";
import { beforeEach, expect, test } from "vitest";
import { createDeferredHost } from "../support/deferred-host.ts";
import { setupHostedTenants } from "../support/gateway-fixture.ts";

const ATTEMPTS = 6;
const LONGEST_PAUSE_MS = 133_000;
const LEASE_MS = 60_000;
let events: { sent: JobEvent; failed: JobEvent };

const { world, host, home } = await setupHostedTenants();
beforeEach(async () => {
  events = { sent: event("board.lead_notified"), failed: event("board.lead_notify_failed") };
});

type Name = "lead" | "worker";
const recipient = (name: Name) => ({
  agent_id: home[name].id,
  gateway_kind: "openclaw" as const,
  board_id: home.board_id,
  name: name === "lead" ? "Lead" : "Worker",
  gateway_id: home.gateway_id,
  organization_id: home.organization_id,
  openclaw_session_id: home[name].session_key as string | null,
});
const sendNotification = (who: ReturnType<typeof recipient>, notification: AgentNotification) =>
  transaction(world.context(), (ctx) => notify(ctx, who, notification));
const event = (event_type: JobEvent["event_type"]): JobEvent => ({
  event_type,
  organization_id: home.organization_id,
  board_id: home.board_id,
  agent_id: home.worker.id,
  message: "Told.",
});
const recorded = () =>
  world.db
    .select()
    .from(activity_events)
    .where(
      and(
        eq(activity_events.organization_id, home.organization_id),
        inArray(activity_events.event_type, [events.sent.event_type, events.failed.event_type]),
      ),
    );
const lastJob = async () => (await world.db.select().from(jobs).orderBy(desc(jobs.seq)).limit(1))[0]!;
const texts = (name: Name) =>
  host.messages.filter(({ session_key }) => session_key === home[name].session_key).map(({ message }) => message);

test("the session is labelled with the agent's name, then the text is sent to it without delivery to a channel", async () => {
  await sendNotification(recipient("worker"), { message: "Look" });
  await world.drain();
  const made = host.calls.filter(({ method }) => method !== "connect").map(({ method, params }) => [method, params]);
  expect(made).toEqual([
    ["sessions.patch", { key: home.worker.session_key, label: "Worker" }],
    [
      "chat.send",
      {
        sessionKey: home.worker.session_key,
        message: "Look",
        deliver: false,
        idempotencyKey: `notice-${(await lastJob()).id}`,
      },
    ],
  ]);
  expect(await recorded()).toEqual([]);
});

test("a command for the agent's own channel is sent as a command", async () => {
  await sendNotification(recipient("worker"), { command: "/pause", deliver: true });
  await world.drain();
  expect(host.messages).toMatchObject([{ message: "/pause", deliver: true }]);
});

test("an agent without a session gets no notification, and no job is created", async () => {
  const before = await lastJob();
  for (const openclaw_session_id of [null, ""])
    await sendNotification({ ...recipient("worker"), openclaw_session_id }, { message: "Look", ...events });
  expect(await lastJob()).toEqual(before);
});

test("a notification is enqueued in the transaction that causes it", async () => {
  const failing = transaction(world.context(), async (ctx) => {
    await notify(ctx, recipient("worker"), { message: "Never" });
    throw new Error("rolled back");
  });
  await expect(failing).rejects.toThrow("rolled back");
  await expect(notify(world.context(), recipient("worker"), { message: "Never" })).rejects.toThrow("outside a transaction");
  await world.drain();
  expect(host.messages).toEqual([]);
});

test.each([
  ["is deleted", (id: string) => world.db.delete(gateways).where(eq(gateways.id, id))],
  ["has no url any more", (id: string) => world.db.update(gateways).set({ url: "\t" }).where(eq(gateways.id, id))],
])("a notification ends without an error when the gateway %s", async (_what, leave) => {
  const body = { name: "Short-lived", url: host.url, workspace_root: "/srv/agents", token: "test-token-123" };
  const { id } = (await world.call("POST", "/api/v1/gateways", { token: home.owner.token, body })).body;
  host.calls.length = 0;
  await sendNotification({ ...recipient("worker"), gateway_id: id }, { message: "Look", ...events });
  await leave(id);
  world.log.length = 0;
  await world.drain();
  expect([host.calls, await recorded()]).toEqual([[], []]);
  expect(await lastJob()).toMatchObject({ status: "done", last_error: null });
  expect(world.log.filter(({ level }) => level === "warn" || level === "error")).toEqual([]);
});

test("the delivery of a text is recorded once, with the end of its job", async () => {
  await sendNotification(recipient("worker"), { message: "Look", ...events });
  expect(await recorded()).toEqual([]);
  await world.drain();
  await deliver(world.context(), (await lastJob()).id);
  expect(await recorded()).toMatchObject([events.sent]);
  expect(texts("worker")).toEqual(["Look"]);
});

test("two workers on one notification send it under one key and record one event", async () => {
  const held = createDeferredHost();
  await sendNotification(recipient("worker"), { message: "Look", ...events });
  const { id } = await lastJob();
  const work = () => deliver({ ...world.context(), gateways: held.gateways }, id);
  const slow = work();
  const first = await held.call(0);
  world.elapse(LEASE_MS);
  const fast = work();
  (await held.call(1)).answer();
  await fast;
  first.answer();
  await slow;
  expect(await recorded()).toMatchObject([events.sent]);
});

test("a text that cannot be sent is tried six times, then recorded once as failed", async () => {
  host.failNext("chat.send", { code: "UNAVAILABLE", message: "The host is busy" }, ATTEMPTS);
  await sendNotification(recipient("worker"), { message: "Lost", ...events });
  const { id } = await lastJob();
  await sendNotification(recipient("worker"), { message: "Next" });
  for (let attempt = 1; attempt <= ATTEMPTS; attempt++) {
    expect([await recorded(), texts("worker")], `before attempt ${attempt}`).toEqual([[], []]);
    await world.drain();
    world.elapse(LONGEST_PAUSE_MS);
  }
  await world.drain();
  const [job] = await world.db.select().from(jobs).where(eq(jobs.id, id));
  expect(job).toMatchObject({ status: "dead", attempts: ATTEMPTS, last_error: "The host is busy" });
  expect(await recorded()).toMatchObject([events.failed]);
  expect(texts("worker")).toEqual(["Next"]);
});

test("the event of an agent that is deleted before the delivery is recorded without the agent", async () => {
  await sendNotification(recipient("worker"), { message: "Look", ...events });
  await world.db.delete(agents).where(eq(agents.id, home.worker.id));
  await world.drain();
  expect(await recorded()).toMatchObject([{ ...events.sent, agent_id: null }]);
});

test("texts reach an agent in the order they were stored, and a failing text delays only later texts to the same agent", async () => {
  const expected = Array.from({ length: 12 }, (_, n) => `text ${n}`);
  await sendNotification(recipient("worker"), { message: "First" });
  host.failNext("chat.send", { code: "UNAVAILABLE", message: "The host is busy" });
  await world.drain();
  for (const message of expected) {
    await sendNotification(recipient("worker"), { message });
    await sendNotification(recipient("lead"), { message });
  }
  await world.drain();
  expect([texts("worker"), texts("lead")]).toEqual([[], expected]);
  world.elapse(LONGEST_PAUSE_MS);
  await world.drain();
  expect(texts("worker")).toEqual(["First", ...expected]);
});

test("a permanent refusal of the host ends the notification at its first attempt", async () => {
  host.failNext("chat.send", { code: "INVALID_REQUEST", message: "message or attachment required" });
  await sendNotification(recipient("worker"), { message: "Look", ...events });
  await world.drain();
  expect(await lastJob()).toMatchObject({ status: "dead", attempts: 1 });
  expect((await recorded()).map((one) => one.event_type)).toEqual([events.failed.event_type]);
});
