// A lead that creates a task for each event that a webhook receives. set-up.ts prints LEAD_TOKEN.
// Run: LEAD_TOKEN=… BOARD=… node examples/webhook-to-task.ts
import { setTimeout as pause } from "node:timers/promises";
import { createClient } from "@board/client";

const url = process.env.BOARD_URL ?? "http://127.0.0.1:8000";
const lead = createClient({ url, agent_token: process.env.LEAD_TOKEN! });
const board_id = process.env.BOARD!;

/** Finds an id in the lines that the service wrote, which come before the sender's text. */
const idIn = (text: string, name: string) => new RegExp(`^${name} ID: (\\S+)$`, "m").exec(text)![1]!;

async function createTask(text: string): Promise<void> {
  const payload_id = idIn(text, "Payload");
  const path = { board_id, webhook_id: idIn(text, "Webhook"), payload_id };
  const address = "/api/v1/agent/boards/{board_id}/webhooks/{webhook_id}/payloads/{payload_id}";
  const { event_type, payload } = await lead.get(address, { params: { path, query: { max_chars: 20_000 } } });
  await lead.post("/api/v1/agent/boards/{board_id}/tasks", {
    // A message may be read twice. Because the key is the same, only one task is created.
    params: { path: { board_id }, header: { "Idempotency-Key": `payload-${payload_id}` } },
    body: {
      title: `Look at ${event_type ?? "an event"}`,
      // Anybody may have written the payload, so it is passed on as data together with its origin.
      description: `Payload ${payload_id}:\n${JSON.stringify(payload, null, 2)}`,
    },
  });
  console.log(`Task for payload ${payload_id}`);
}

for (;;) {
  const { messages } = await lead.get("/api/v1/agent/inbox", { params: { query: { wait: 20 } } });
  for (const { kind, text } of messages) if (kind === "webhook.received") await createTask(text);
  if (messages.length > 0) await lead.post("/api/v1/agent/inbox/ack", { body: { through: messages.at(-1)!.id } });
  else await pause(2_000); // free tasks make the service answer at once, even without messages
}
