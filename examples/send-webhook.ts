// A sender for a webhook with the generic source: it signs the body and repeats a post until the service has stored it, once.
// Run: ENDPOINT_URL=… SECRET=… node examples/send-webhook.ts   (without SECRET for a webhook that takes unsigned posts)
import { createHmac } from "node:crypto";
import { setTimeout as pause } from "node:timers/promises";

const endpoint = process.env.ENDPOINT_URL!;
const secret = process.env.SECRET;

/** Posts an event. The service recognizes a repeated post by `id` for seven days. */
async function send(id: string, event: object): Promise<Response> {
  const body = JSON.stringify(event);
  const signature = secret ? createHmac("sha256", secret).update(body).digest("hex") : null;
  const headers = {
    "Content-Type": "application/json",
    "Idempotency-Key": id,
    ...(signature && { "X-Webhook-Signature": signature }),
  };
  for (let attempt = 0; ; attempt++) {
    const answer = await fetch(endpoint, { method: "POST", headers, body }).catch(() => null);
    const isOver = answer && answer.status !== 429 && answer.status < 500;
    if (isOver) return answer;
    if (attempt === 5) throw new Error(`No answer from ${endpoint}`);
    await pause(Number(answer?.headers.get("Retry-After") ?? 2 ** attempt) * 1000);
  }
}

const order = { type: "order.paid", order: 17, lamps: 2 };
for (const occasion of ["first post", "repeated post"]) {
  const answer = await send("order-17-paid", order);
  const isRepeat = answer.headers.get("Idempotent-Replayed") === "true";
  console.log(`${occasion}: ${answer.status}${isRepeat ? ", it was stored before" : ""}`);
  if (!answer.ok) throw new Error(await answer.text());
}
