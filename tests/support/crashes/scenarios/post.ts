import { expect } from "vitest";
import type { Outside } from "../outside.ts";
import type { Scenario } from "../walk.ts";

/** A post from its arrival to its agent's ears. */
export const post: Scenario = {
  name: "a post is taken in, relayed and delivered",

  async act(outside, { hook }, answers) {
    answers.push(await send(outside, hook));
  },

  async check(outside, { hook, lead }, answers) {
    const before = await stored(outside);
    // Whoever was not answered has been heard or not; nothing in between.
    expect(before.length).toBeLessThanOrEqual(1);
    for (const { status, body } of answers) {
      expect(status).toBe(202);
      expect(before).toEqual([body.payload_id]);
    }
    if (answers.length === 0) {
      const again = await send(outside, hook);
      await outside.settle();
      // Posts have no key of their own: one that comes again is another one.
      expect(await stored(outside)).toEqual([...before, again.body.payload_id]);
    }
    const payloads = await stored(outside);
    const remembered = await outside.rows<{ content: string }>("select content from board_memory where source = 'webhook'");
    const told = remembered.map(({ content }) => /^Payload ID: (.*)$/m.exec(content)?.[1] ?? "");
    expect(told.toSorted()).toEqual(payloads.toSorted());
    const jobs = await outside.rows<{ status: string; payload_id: string; attempts: number; crashes: number }>(
      "select status, payload ->> 'payload_id' as payload_id, attempts, crashes from jobs where kind = 'webhook.notify'",
    );
    expect(jobs.map(({ payload_id }) => payload_id).toSorted()).toEqual(payloads.toSorted());
    // Nobody's attempt is used up but those of the dead.
    for (const { status, attempts, crashes } of jobs) expect([status, attempts]).toEqual(["done", crashes + 1]);
    const heard = outside.host.messages.filter(({ message }) => message.startsWith("WEBHOOK EVENT RECEIVED"));
    expect(heard.map(({ idempotency_key }) => idempotency_key).toSorted()).toEqual(
      payloads.map((id) => `webhook-${id}-${lead.id}`).toSorted(),
    );
    expect(new Set(heard.map(({ session_key }) => session_key))).toEqual(new Set([lead.session_key]));
    return null;
  },
};

const send = (outside: Outside, hook: string) => outside.request("POST", hook, { raw: '{"order":4711}' });

async function stored(outside: Outside): Promise<string[]> {
  const rows = await outside.rows<{ id: string }>("select id from board_webhook_payloads order by received_at, id");
  return rows.map(({ id }) => id);
}
