/** The invariants after every run: each change is delivered at least once or visible as failed, and nothing else is sent. */
import { Webhook } from "standardwebhooks";
import { expect } from "vitest";
import type { DeliveriesRun, Subscribed } from "./run.ts";

interface Stored {
  subscription_id: string;
  event_id: string;
  /** Board, type and subject of the event. */
  event: string;
  status: "pending" | "delivered" | "failed";
  last_error: string | null;
}

export async function expectInvariants({ subscriptions, receivers, rows, errors }: DeliveriesRun): Promise<void> {
  expect(errors).toEqual([]);
  expect(receivers.redirected()).toBe(0);
  const changes = await rows<{ board_id: string; event: string }>(`
    select board_id, concat_ws(' ', board_id, 'task.created', id, 'inbox') as event from tasks
    union all
    select board_id, concat_ws(' ', board_id, 'task.updated', task_id, to_status) from task_transitions where from_status is not null`);
  const deliveries = await rows<Stored>(`
    select subscription_id, event_id, status, last_error, concat_ws(' ', detail ->> 'board_id', event_type,
      detail -> 'subject' ->> 'id', detail ->> 'status') as event from subscription_deliveries`);
  const active = await rows<{ id: string }>("select id from subscriptions where active");
  const live = await rows("select id from jobs where status in ('queued', 'running')");
  expect(live).toEqual([]);
  for (const subscription of subscriptions) {
    const own = deliveries.filter(({ subscription_id }) => subscription_id === subscription.id);
    const matching = changes.filter(({ board_id }) => [board_id, null].includes(subscription.board_id)).map(({ event }) => event);
    const isActive = active.some(({ id }) => id === subscription.id);
    expectStored(subscription, own, matching, isActive);
    expectReceived(subscription, own, receivers);
  }
}

/** Checks that only committed changes have a delivery, and that each has exactly one unless its subscription was switched off. */
function expectStored({ behaviour }: Subscribed, own: readonly Stored[], matching: readonly string[], isActive: boolean): void {
  const stored = own.map(({ event }) => event).toSorted();
  expect(new Set(stored).size, behaviour).toBe(stored.length);
  if (isActive) expect(stored, behaviour).toEqual(matching.toSorted());
  else
    expect(
      stored.filter((event) => !matching.includes(event)),
      behaviour,
    ).toEqual([]);
  expect(
    own.filter(({ status }) => status === "pending"),
    behaviour,
  ).toEqual([]);
  expect(
    own.filter(({ status, last_error }) => status === "failed" && !last_error),
    behaviour,
  ).toEqual([]);
  if (behaviour === "steady") expect(own.filter(({ status }) => status === "failed")).toEqual([]);
}

/** Checks that receivers accepted all deliveries marked as delivered, and that all messages are signed and belong to a delivery. */
function expectReceived({ behaviour, secret }: Subscribed, own: readonly Stored[], receivers: DeliveriesRun["receivers"]): void {
  const accepted = receivers.acceptedBy(behaviour);
  const delivered = own.filter(({ status }) => status === "delivered").map(({ event_id }) => event_id);
  expect(
    delivered.filter((id) => !accepted.has(id)),
    behaviour,
  ).toEqual([]);
  const events = new Map(own.map(({ event_id, event }) => [event_id, event]));
  const webhook = new Webhook(secret);
  for (const { headers, body, json } of receivers.messagesOf(behaviour)) {
    const id = headers["webhook-id"];
    const { data } = json;
    expect(`${data.board_id} ${json.type} ${data.subject.id} ${data.status}`, behaviour).toBe(events.get(id));
    // The library compares timestamps with its own clock, so messages from the shifted clock are checked by signing them again.
    expect(webhook.sign(id, new Date(Number(headers["webhook-timestamp"]) * 1000), body)).toBe(headers["webhook-signature"]);
  }
}
