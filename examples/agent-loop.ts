// An agent that works on one task at a time: it takes a task, comments on it, and submits its work for review.
// Run: AGENT_TOKEN=… node examples/agent-loop.ts
import { setTimeout as pause } from "node:timers/promises";
import { ApiError, createClient, type Task } from "@board/client";

const url = process.env.BOARD_URL ?? "http://127.0.0.1:8000";
const agent = createClient({ url, agent_token: process.env.AGENT_TOKEN! });

/** Put your model, script or tool here. */
async function work(task: Task, report: (text: string) => Promise<unknown>): Promise<string> {
  await report(`Started: ${task.description ?? task.title}`);
  return `Done: ${task.title}`;
}

for (;;) {
  const { task, lease, retry_after_seconds } = await agent.post("/api/v1/agent/tasks/next", { body: { lease_seconds: 900 } });
  if (!task || !lease) {
    await pause(retry_after_seconds * 1000);
    continue;
  }
  // Each write names the fence of the lease, so that nothing is written to a task that another agent has taken over.
  const params = { path: { board_id: task.board_id, task_id: task.id }, header: { "X-Task-Fence": lease.fence } };
  const report = (content: string) =>
    agent.post("/api/v1/agent/boards/{board_id}/tasks/{task_id}/comments", { params, body: { content } });
  try {
    const comment = await work(task, report);
    await agent.patch("/api/v1/agent/boards/{board_id}/tasks/{task_id}", { params, body: { status: "review", comment } });
    console.log(`Submitted: ${task.title}`);
  } catch (error) {
    if (!(error instanceof ApiError && error.code === "task_lease_lost")) throw error;
    console.log(`Lost to another agent: ${task.title}`);
  }
}
