// An agent that asks people before it acts, and waits for their decision.
// Run: AGENT_TOKEN=… BOARD=… node examples/ask-for-approval.ts
import { createClient } from "@board/client";

const url = process.env.BOARD_URL ?? "http://127.0.0.1:8000";
const agent = createClient({ url, agent_token: process.env.AGENT_TOKEN! });
const board = { path: { board_id: process.env.BOARD! } };

const asked = await agent.post("/api/v1/agent/boards/{board_id}/approvals", {
  params: board,
  body: {
    action_type: "refund",
    description: "The lamp arrived broken. The photo shows a crack in the glass.",
    confidence: 90,
    payload: { title: "Refund order 17", amount: 40, currency: "EUR" },
  },
});
console.log(`Asked: ${asked.id}`);

// The stream begins at the time of the request, so it also contains a decision that was made before the connection was open.
const query = { since: asked.created_at };
for await (const { data } of agent.stream("/api/v1/boards/{board_id}/approvals/stream", { params: { ...board, query } })) {
  const { id, status } = data.approval;
  if (id !== asked.id || status === "pending") continue;
  console.log(status === "approved" ? "Refunding 40 EUR" : "Nothing is refunded");
  break;
}
