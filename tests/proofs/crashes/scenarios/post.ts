import { expect } from "vitest";
import type { ServiceEnvironment } from "../../load/environment.ts";
import type { Scenario } from "../walk.ts";

/** A webhook post from its arrival to its delivery to the agent. */
export const post: Scenario = {
  name: "a post is stored, relayed and delivered",

  async act(outside, { hook }, answers) {
    answers.push(await send(outside, hook));
  },

  async check(outside, { hook, lead }, answers) {
    const before = await listPayloadIds(outside);
    // A post without an answer was stored completely or not at all.
    expect(before.length).toBeLessThanOrEqual(1);
    for (const { status, body } of answers) {
      expect(status).toBe(202);
      expect(before).toEqual([body.payload_id]);
    }
    if (answers.length === 0) {
      const again = await send(outside, hook);
      await outside.drainQueue();
      // Posts have no idempotency key, so a repeated post is a new payload.
      expect(await listPayloadIds(outside)).toEqual([...before, again.body.payload_id]);
    }
    const payloads = await listPayloadIds(outside);
    const remembered = await outside.rows<{ content: string }>("select content from board_memory where source = 'webhook'");
    const remembered_ids = remembered.map(({ content }) => /^Payload ID: (.*)$/m.exec(content)?.[1] ?? "");
    expect(remembered_ids.toSorted()).toEqual(payloads.toSorted());
    const jobs = await outside.rows<{ status: string; payload_id: string; attempts: number; crashes: number }>(
      "select status, payload ->> 'payload_id' as payload_id, attempts, crashes from jobs where kind = 'webhook.notify'",
    );
    expect(jobs.map(({ payload_id }) => payload_id).toSorted()).toEqual(payloads.toSorted());
    // Only killed processes use up attempts.
    for (const { status, attempts, crashes } of jobs) expect([status, attempts]).toEqual(["done", crashes + 1]);
    const received = outside.host.messages.filter(({ message }) => message.startsWith("WEBHOOK EVENT RECEIVED"));
    expect(received.map(({ idempotency_key }) => idempotency_key).toSorted()).toEqual(
      payloads.map((id) => `webhook-${id}-${lead.id}`).toSorted(),
    );
    expect(new Set(received.map(({ session_key }) => session_key))).toEqual(new Set([lead.session_key]));
    return null;
  },
};

/** A sender that repeats its post until it has an answer. */
export const repeatedPost: Scenario = {
  name: "a post with an idempotency key is stored and delivered once, whatever crashed before its repeat",

  async act(outside, { hook }, answers) {
    answers.push(await sendWithKey(outside, hook));
  },

  async check(outside, { hook, lead }, answers) {
    const repeat = await sendWithKey(outside, hook);
    await outside.drainQueue();
    const [payload_id, ...others] = await listPayloadIds(outside);
    expect(others).toEqual([]);
    for (const { status, body } of [...answers, repeat]) expect([status, body.payload_id]).toEqual([202, payload_id]);
    const remembered = await outside.rows("select 1 from board_memory where source = 'webhook'");
    expect(remembered).toHaveLength(1);
    const received = outside.host.messages.filter(({ message }) => message.startsWith("WEBHOOK EVENT RECEIVED"));
    expect(received.map(({ idempotency_key }) => idempotency_key)).toEqual([`webhook-${payload_id}-${lead.id}`]);
    return null;
  },
};

const sendWithKey = (outside: ServiceEnvironment, hook: string) =>
  outside.request("POST", hook, { raw: '{"order":4711}', headers: { "idempotency-key": "order-4711" } });

const send = (outside: ServiceEnvironment, hook: string) => outside.request("POST", hook, { raw: '{"order":4711}' });

async function listPayloadIds(outside: ServiceEnvironment): Promise<string[]> {
  const rows = await outside.rows<{ id: string }>("select id from board_webhook_payloads order by received_at, id");
  return rows.map(({ id }) => id);
}
