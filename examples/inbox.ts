// An agent that waits for messages: a request is answered as soon as there is work, and returns all unacknowledged messages.
// Run: AGENT_TOKEN=… node examples/inbox.ts
import { setTimeout as pause } from "node:timers/promises";
import { createClient } from "@board/client";

const url = process.env.BOARD_URL ?? "http://127.0.0.1:8000";
const agent = createClient({ url, agent_token: process.env.AGENT_TOKEN! });

for (;;) {
  const inbox = await agent.get("/api/v1/agent/inbox", { params: { query: { wait: 20 } } });
  for (const message of inbox.messages) console.log(`${message.kind}: ${message.text.split("\n", 1)[0]}`);

  // Acknowledge messages after the work, so that they are returned again if the process dies before.
  const last = inbox.messages.at(-1);
  if (last) await agent.post("/api/v1/agent/inbox/ack", { body: { through: last.id } });

  const { mine, free } = inbox.counts;
  if (mine + free > 0) console.log(`Tasks: ${mine} assigned to this agent, ${free} free`);
  // Tasks stay in the inbox until the agent starts them, so the next request would be answered at once. The wait also ends early
  // when another program waits for the same agent. Therefore this program pauses.
  if (!last) await pause(inbox.has_work ? 60_000 : 1_000);
}
