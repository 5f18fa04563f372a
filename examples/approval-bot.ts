// A bot that acts with a person's token: it decides small requests by a rule and leaves all other requests to people.
// Run: BOARD_TOKEN=… BOARD=… node examples/approval-bot.ts
import { type Approval, createClient } from "@board/client";

const LIMIT = 50;

const url = process.env.BOARD_URL ?? "http://127.0.0.1:8000";
const you = createClient({ url, token: process.env.BOARD_TOKEN! });
const board = { path: { board_id: process.env.BOARD! } };

/** Returns the decision, or null to leave it to a person. An agent wrote the payload, so its types are checked first. */
function decide({ action_type, payload }: Approval): "approved" | "rejected" | null {
  const amount = payload?.["amount"];
  if (action_type !== "refund" || typeof amount !== "number" || !(amount > 0)) return null;
  return amount <= LIMIT ? "approved" : null;
}

async function handle(approval: Approval): Promise<void> {
  if (approval.status !== "pending") return;
  const status = decide(approval);
  console.log(`${status ?? "left to people"}: ${approval.action_type} ${approval.id}`);
  if (!status) return;
  const params = { path: { ...board.path, approval_id: approval.id } };
  await you.patch("/api/v1/boards/{board_id}/approvals/{approval_id}", { params, body: { status } });
}

// Handles the requests that already wait, and then follows new ones. A request that is seen twice is decided once.
const since = new Date().toISOString();
const pending = { ...board, query: { status: "pending" as const } };
for await (const approval of you.list("/api/v1/boards/{board_id}/approvals", { params: pending })) await handle(approval);
const events = you.stream("/api/v1/boards/{board_id}/approvals/stream", { params: { ...board, query: { since } } });
for await (const { data } of events) await handle(data.approval);
