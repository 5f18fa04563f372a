import { board_webhook_payloads, jobs } from "@board/core/schema/all-tables";
import { scheduled } from "@board/api/work/schedules";
import type { Webhook } from "@board/core/webhook/webhook";
import { eq } from "drizzle-orm";
import { beforeEach, expect, test } from "vitest";
import { openPullBoard } from "../support/pull-board.ts";
import { post, postPayload } from "../support/webhook.ts";
import { renew, setupWorld } from "../support/fixtures.ts";

const DAY_MS = 86_400_000;

let webhook: Webhook;
let count = 0;

const world = await setupWorld();

const board = renew(() => openPullBoard(world, `puller ${++count}`));
beforeEach(async () => {
  webhook = (await asOwner("POST", `/api/v1/boards/${board.board_id}/webhooks`, { description: "Look at it" })).body;
});

const asOwner = (method: string, path: string, body?: object) => board.call(method, path, board.owner.token, body);
const delivery = async (id: string) => (await asOwner("GET", `${webhook.endpoint_path}/payloads/${id}`)).body.delivery;
const listed = async (status: string) =>
  (await asOwner("GET", `${webhook.endpoint_path}/payloads?delivery_status=${status}`)).body.items.map(
    ({ id }: { id: string }) => id,
  );
const redeliver = (id: string) => asOwner("POST", `${webhook.endpoint_path}/payloads/${id}/redeliver`);
const messagesOf = async () => {
  const { messages } = (await board.inbox(board.lead)).body as { messages: { text: string }[] };
  return messages.filter(({ text }) => text.startsWith("WEBHOOK EVENT RECEIVED"));
};

test("a payload for an agent without a host is delivered as soon as it is stored", async () => {
  const id = await postPayload(world, webhook, "Something happened");
  const [{ received_at }] = (await world.db.select().from(board_webhook_payloads).where(eq(board_webhook_payloads.id, id))) as [
    typeof board_webhook_payloads.$inferSelect,
  ];
  expect(await delivery(id)).toEqual({
    status: "delivered",
    attempts: 1,
    last_error: null,
    waits_for: null,
    next_attempt_at: null,
    delivered_at: received_at.toISOString(),
    agent_id: board.lead.id,
  });
  expect(await listed("delivered")).toEqual([id]);
  expect(await messagesOf()).toHaveLength(1);
});

test("on a board without a host, a payload that found no agent can be redelivered once the board has an agent", async () => {
  await asOwner("DELETE", `/api/v1/agents/${board.lead.id}`);
  const id = await postPayload(world, webhook, "Something happened");
  expect(await delivery(id)).toMatchObject({ status: "no_target", delivered_at: null, agent_id: null });
  expect(await listed("no_target")).toEqual([id]);
  board.lead = await board.addAgent("Next lead", { is_board_lead: true });
  const answer = await asOwner("POST", `${webhook.endpoint_path}/redeliver`, { status: "no_target" });
  expect([answer.status, answer.body]).toEqual([202, { ok: true, redelivered: 1, has_more: false }]);
  await world.drain();
  expect(await delivery(id)).toMatchObject({ status: "delivered", attempts: 1, agent_id: board.lead.id });
  expect(await messagesOf()).toHaveLength(1);
});

test("a payload redelivered to an agent without a host is in the inbox again, and its outcome outlives the job", async () => {
  const id = await postPayload(world, webhook, "Something happened");
  expect((await redeliver(id)).status).toBe(202);
  expect(await delivery(id)).toMatchObject({ status: "queued", agent_id: null });
  await world.drain();
  expect(await messagesOf()).toHaveLength(2);
  const shown = await delivery(id);
  expect(shown).toMatchObject({ status: "delivered", agent_id: board.lead.id });
  world.elapse(31 * DAY_MS);
  await scheduled.retention(world.context());
  expect(await world.db.$count(jobs, eq(jobs.organization_id, board.organization_id))).toBe(0);
  expect(await delivery(id)).toEqual(shown);
});

test("an event that the webhook filters out is in no inbox until somebody redelivers it", async () => {
  const path = `/api/v1/boards/${board.board_id}/webhooks/${webhook.id}`;
  const changed = await asOwner("PATCH", path, { source: "github", event_types: ["push"] });
  expect(changed.status).toBe(200);
  const answer = await post(world, webhook, "{}", { "x-github-event": "ping" });
  const id = answer.body.payload_id;
  expect(await delivery(id)).toEqual({
    status: "filtered",
    attempts: 0,
    last_error: null,
    waits_for: null,
    next_attempt_at: null,
    delivered_at: null,
    agent_id: null,
  });
  expect(await messagesOf()).toEqual([]);
  await redeliver(id);
  await world.drain();
  expect(await delivery(id)).toMatchObject({ status: "delivered", agent_id: board.lead.id });
  expect(await messagesOf()).toHaveLength(1);
});
