// Makes a board, a lead and a worker, and prints what the other examples read from their environment.
// Run: BOARD_TOKEN=… node examples/set-up.ts
import { createClient } from "@board/client";

const url = process.env.BOARD_URL ?? "http://127.0.0.1:8000";
const you = createClient({ url, token: process.env.BOARD_TOKEN! });

const board = await you.post("/api/v1/boards", {
  // "pull": the agents of this board ask the service for work themselves, so no host has to be registered.
  body: { name: "Shop", description: "Keep the shop running", gateway: "pull", require_approval_for_done: false },
});
const lead = await you.post("/api/v1/agents", { body: { name: "Iris", board_id: board.id, is_board_lead: true } });
const worker = await you.post("/api/v1/agents", { body: { name: "Milo", board_id: board.id } });

for (const [name, value] of Object.entries({
  BOARD_URL: url,
  BOARD: board.id,
  // Only the answer of its creation contains an agent's token; the service stores a hash of the token.
  LEAD_TOKEN: lead.auth_token,
  AGENT_TOKEN: worker.auth_token,
}))
  console.log(`export ${name}=${value}`);
