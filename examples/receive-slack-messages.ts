// Shows what a Slack channel would get: a receiver instead of a Slack webhook, and a subscription with its format.
// Run: BOARD_TOKEN=… BOARD=… node examples/receive-slack-messages.ts   (SLACK_URL=https://hooks.slack.com/… for a real channel)
import { once } from "node:events";
import { createServer, type IncomingMessage, type ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";
import { json } from "node:stream/consumers";
import { createClient } from "@board/client";

const url = process.env.BOARD_URL ?? "http://127.0.0.1:8000";
const you = createClient({ url, token: process.env.BOARD_TOKEN! });
const path = { board_id: process.env.BOARD! };

async function receive(request: IncomingMessage, response: ServerResponse): Promise<void> {
  const { text } = (await json(request)) as { text: string };
  console.log(text);
  response.end("ok");
}

const server = createServer((request, response) => void receive(request, response));
await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));

const { port } = server.address() as AddressInfo;
const subscription = await you.post("/api/v1/boards/{board_id}/subscriptions", {
  params: { path },
  body: {
    url: process.env.SLACK_URL ?? `http://127.0.0.1:${port}/`,
    format: "slack",
    event_types: ["task.completed", "approval.*"],
  },
});
// The address of a channel is a credential: the service stores it encrypted and shows only its end.
console.log(`Posts go to ${subscription.url}`);

const params = { path: { ...path, subscription_id: subscription.id } };
await you.post("/api/v1/boards/{board_id}/subscriptions/{subscription_id}/test", { params });
await once(process, "SIGINT");
await you.delete("/api/v1/boards/{board_id}/subscriptions/{subscription_id}", { params });
process.exit();
