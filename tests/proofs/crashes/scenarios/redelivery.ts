import { expect } from "vitest";
import type { Scenario } from "../walk.ts";

/** A delivered payload is delivered again at a person's request. */
export const redelivery: Scenario = {
  name: "a delivered payload is redelivered",

  async act(outside, { hook }, answers) {
    const posted = await outside.request("POST", hook, { raw: "{}" });
    expect(posted.status).toBe(202);
    await outside.drainQueue();
    answers.push(await outside.request("POST", `${hook}/payloads/${posted.body.payload_id}/redeliver`));
  },

  async check(outside, { hook, lead }, answers) {
    const payloads = await outside.rows<{ id: string }>("select id from board_webhook_payloads");
    expect(payloads.length).toBeLessThanOrEqual(1);
    for (const { status, body } of answers) expect([status, body.redelivered]).toEqual([202, 1]);
    if (payloads.length === 0) {
      expect(answers).toEqual([]);
      return null;
    }
    const { id } = payloads[0]!;
    const jobs = await outside.rows<{ id: string; status: string; again: boolean }>(
      "select id, status, payload ? 'redelivery' as again from jobs where kind = 'webhook.notify' order by seq",
    );
    expect(jobs.map(({ status }) => status)).toEqual(jobs.map(() => "done"));
    // A redelivery without an answer was stored completely or not at all.
    if (answers.length > 0) expect(jobs.map(({ again }) => again)).toEqual([false, true]);
    else expect(jobs.length).toBeLessThanOrEqual(2);
    const key = `webhook-${id}-${lead.id}`;
    const received = outside.host.messages.filter(({ message }) => message.startsWith("WEBHOOK EVENT RECEIVED"));
    expect(received.map(({ idempotency_key }) => idempotency_key)).toEqual(
      jobs.map((job) => (job.again ? `${key}-${job.id}` : key)),
    );
    const { body } = await outside.request("GET", `${hook}/payloads/${id}`);
    expect(body.delivery).toMatchObject({ status: "delivered", agent_id: lead.id });
    return null;
  },
};
