import { type Client, createClient } from "@board/client/client";
import type { Demo } from "./demo.ts";

const OPEN = "inbox,in_progress,review,blocked";

const countTasks = async (api: Client, board_id: string, status: string): Promise<number> =>
  (await api.get("/api/v1/boards/{board_id}/tasks", { params: { path: { board_id }, query: { status, limit: 1 } } })).total;

/** Returns whether the lead has handled every accepted post and every task is done. */
export async function isComplete({ api, posts }: Demo, board_id: string): Promise<boolean> {
  if ([...posts.values()].some(({ handled }) => handled === 0)) return false;
  return (await countTasks(api, board_id, OPEN)) === 0;
}

/** Reports the outcome of every accepted post, and counts what the service has stored. */
export async function summarize({ url, posts, rejected_posts }: Demo, token: string, board_id: string): Promise<string> {
  // The summary needs a new client, because the client of the demo was aborted when the demo ended.
  const api = createClient({ url, token });
  const params = { path: { board_id }, query: { limit: 1 } };
  const [open, done] = [await countTasks(api, board_id, OPEN), await countTasks(api, board_id, "done")];
  const approvals = await api.get("/api/v1/boards/{board_id}/approvals", { params });
  const memory = await api.get("/api/v1/boards/{board_id}/memory", { params });
  const usage = await api.get("/api/v1/metrics/usage", { params: { query: { range: "24h" } } });
  const { total_tokens, cost_usd } = usage.total.work;
  const times = [...posts.values()].map(({ handled }) => handled);
  const [waiting, twice] = [times.filter((count) => count === 0).length, times.filter((count) => count > 1).length];
  const rows: [string, number, string][] = [
    ["accepted", posts.size, "posts answered with 202 once stored"],
    ["rejected", rejected_posts, "invalid signature, nothing stored"],
    ["handled", posts.size - waiting, `${waiting ? `${waiting} waiting` : "none lost"}, ${twice || "none"} twice`],
    ["tasks", open + done, open === 0 ? "all done" : `${done} done, ${open} in progress`],
    ["approvals", approvals.total, "requested from you"],
    ["memory", memory.total, "entries: posts, notes and facts"],
    ["tokens", total_tokens ?? 0, `used for $${cost_usd ?? 0}, as the agents reported`],
  ];
  return rows.map(([label, count, detail]) => `  ${label.padEnd(10)} ${String(count).padEnd(4)} ${detail}`).join("\n");
}
