// Creates a webhook for GitHub and posts to it as GitHub does, so that you can see what agents do before you connect a repository.
// Run: BOARD_TOKEN=… BOARD=… node examples/send-github-webhook.ts
import { createHmac, randomBytes, randomUUID } from "node:crypto";
import { createClient } from "@board/client";

const url = process.env.BOARD_URL ?? "http://127.0.0.1:8000";
const you = createClient({ url, token: process.env.BOARD_TOKEN! });
const params = { path: { board_id: process.env.BOARD! } };
const secret = randomBytes(32).toString("hex");

const webhook = await you.post("/api/v1/boards/{board_id}/webhooks", {
  params,
  body: { description: "Create a task for each new issue.", source: "github", event_types: ["issues.opened"], secret },
});

/**
 * Posts an event with the headers of GitHub. The signature covers the exact bytes that are sent, so the body is serialized once.
 */
async function post(event: string, payload: object): Promise<number> {
  const body = JSON.stringify(payload);
  const answer = await fetch(new URL(webhook.endpoint_path, url), {
    method: "POST",
    body,
    headers: {
      "Content-Type": "application/json",
      "X-GitHub-Event": event,
      "X-GitHub-Delivery": randomUUID(),
      "X-Hub-Signature-256": `sha256=${createHmac("sha256", secret).update(body).digest("hex")}`,
    },
  });
  return answer.status;
}

console.log("ping:", await post("ping", { zen: "Keep it logically awesome." }));
console.log("issues:", await post("issues", { action: "opened", issue: { number: 7, title: "A lamp flickers" } }));

// Both events are stored. Only the second event matches event_types, so the agent is notified only of that event.
const path = { ...params.path, webhook_id: webhook.id };
for await (const { event_type, delivery } of you.list("/api/v1/boards/{board_id}/webhooks/{webhook_id}/payloads", {
  params: { path },
}))
  console.log(`${event_type}: ${delivery?.status === "filtered" ? "stored only" : "an agent is notified"}`);
