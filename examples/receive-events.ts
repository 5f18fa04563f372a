// Receives what happens on a board: a server that verifies each message as Standard Webhooks, and a subscription to it.
// Run: BOARD_TOKEN=… BOARD=… node examples/receive-events.ts   (it removes the subscription on Ctrl-C)
import { once } from "node:events";
import { createServer, type IncomingMessage, type ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";
import { text } from "node:stream/consumers";
import { createClient } from "@board/client";
import { Webhook } from "standardwebhooks";

const url = process.env.BOARD_URL ?? "http://127.0.0.1:8000";
const you = createClient({ url, token: process.env.BOARD_TOKEN! });
const path = { board_id: process.env.BOARD! };

const seen = new Set<string>(); // in your program this would be a table, because a message may be sent again after a restart
let verifier: Webhook | undefined;

async function receive(request: IncomingMessage, response: ServerResponse): Promise<void> {
  const body = await text(request);
  try {
    const headers = request.headers as Record<string, string>;
    const event = verifier!.verify(body, headers) as { type: string; data: { status?: string } };
    // Answer within 15 seconds; do what takes longer afterwards.
    response.writeHead(204).end();
    const id = headers["webhook-id"]!;
    if (seen.has(id)) return;
    seen.add(id);
    console.log(`${event.type} ${event.data.status ?? ""}`);
  } catch (error) {
    console.log(`Refused: ${(error as Error).message}`);
    response.writeHead(401).end();
  }
}

const server = createServer((request, response) => void receive(request, response));
await new Promise<void>((resolve) => server.listen(Number(process.env.PORT ?? 0), "127.0.0.1", resolve));

const { port } = server.address() as AddressInfo;
// A service on this machine can post to a loopback address. Any other service needs a public https address that leads to PORT.
const receiver = process.env.RECEIVER_URL ?? `http://127.0.0.1:${port}/events`;
const subscription = await you.post("/api/v1/boards/{board_id}/subscriptions", {
  params: { path },
  body: { url: receiver, event_types: ["task.*", "approval.requested"] },
});
verifier = new Webhook(subscription.secret!);

const params = { path: { ...path, subscription_id: subscription.id } };
const test = await you.post("/api/v1/boards/{board_id}/subscriptions/{subscription_id}/test", { params });
console.log(`Test message: ${test.status_code}. Listening at ${receiver}`);

await once(process, "SIGINT");
await you.delete("/api/v1/boards/{board_id}/subscriptions/{subscription_id}", { params });
process.exit();
