// An agent whose work takes longer than its lease: it renews the lease while it works, and stops when the lease is lost.
// Run: AGENT_TOKEN=… node examples/keep-lease.ts
import { setTimeout as pause } from "node:timers/promises";
import { ApiError, createClient } from "@board/client";

const LEASE_SECONDS = 60;

const url = process.env.BOARD_URL ?? "http://127.0.0.1:8000";
const work_ms = Number(process.env.WORK_MS ?? 180_000);
const renew_ms = Number(process.env.RENEW_MS ?? (LEASE_SECONDS * 1000) / 3);

const agent = createClient({ url, agent_token: process.env.AGENT_TOKEN! });
const next = await agent.post("/api/v1/agent/tasks/next", { body: { lease_seconds: LEASE_SECONDS } });
if (!next.task || !next.lease) throw new Error("There is no task to take");
const params = {
  path: { board_id: next.task.board_id, task_id: next.task.id },
  header: { "X-Task-Fence": next.lease.fence },
};

/** Renews the lease by reading the inbox, and reads the task to check that its lease still has the same fence. */
async function renew(over: AbortController): Promise<void> {
  while (!over.signal.aborted) {
    await pause(renew_ms, undefined, { signal: over.signal });
    await agent.get("/api/v1/agent/inbox");
    const { lease } = await agent.get("/api/v1/agent/boards/{board_id}/tasks/{task_id}", { params: { path: params.path } });
    if (over.signal.aborted) return; // the task was submitted meanwhile
    if (lease?.fence !== params.header["X-Task-Fence"]) over.abort(new Error("The lease was lost"));
    else console.log(`Lease until ${lease.expires_at}`);
  }
}

const over = new AbortController();
const renewals = renew(over).catch((error: unknown) => over.abort(error));
try {
  await pause(work_ms, undefined, { signal: over.signal }); // your work; it has to stop when the signal is aborted
  const body = { status: "review", comment: "It took a while" } as const;
  await agent.patch("/api/v1/agent/boards/{board_id}/tasks/{task_id}", { params, body });
  console.log(`Submitted: ${next.task.title}`);
} catch (error) {
  if (error instanceof ApiError) throw error;
  console.error(over.signal.reason);
  process.exitCode = 1;
} finally {
  over.abort();
  await renewals;
}
