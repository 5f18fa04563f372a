import { expect } from "vitest";
import { type Receiver, startReceiver } from "../../../support/receiver.ts";
import type { Scenario } from "../walk.ts";

const TITLE = "Told";

let receiver: Promise<Receiver> | undefined;
/** Returns the receiver, which all walks of a run share. Each walk has a separate path. */
const getReceiver = () => (receiver ??= startReceiver());

/** A change whose event is posted to a subscription. */
export const subscription: Scenario = {
  name: "a change is posted to a subscription",

  async act(outside, { board_id }, answers) {
    const { url } = await getReceiver();
    const body = { url: `${url}/${crypto.randomUUID()}`, event_types: ["task.created"] };
    answers.push(await outside.request("POST", "/api/v1/subscriptions", { body }));
    answers.push(await outside.request("POST", `/api/v1/boards/${board_id}/tasks`, { body: { title: TITLE } }));
  },

  async check(outside, _fixture, answers) {
    for (const { status } of answers) expect(status).toBe(200);
    const tasks = await outside.rows<{ id: string }>(`select id from tasks where title = '${TITLE}'`);
    const deliveries = await outside.rows<{ task_id: string; status: string; url: string }>(
      `select detail -> 'subject' ->> 'id' as task_id, status, url from subscription_deliveries
        join subscriptions on subscriptions.id = subscription_id`,
    );
    // A change has a delivery if and only if it was committed.
    expect(deliveries.map(({ task_id, status }) => [task_id, status])).toEqual(tasks.map(({ id }) => [id, "delivered"]));
    const [path] = (await outside.rows<{ url: string }>("select url from subscriptions")).map(({ url }) => new URL(url).pathname);
    const received = (await getReceiver()).messages.filter((message) => message.path === path);
    expect(new Set(received.map(({ json }) => json.data.subject.id))).toEqual(new Set(tasks.map(({ id }) => id)));
    expect(new Set(received.map(({ headers }) => headers["webhook-id"])).size).toBe(tasks.length);
    return received.length > tasks.length ? "a message came twice, with the same id" : null;
  },
};
