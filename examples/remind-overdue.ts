// A program to run every morning: it finds overdue tasks, and reminds their agents in a comment.
// Run: BOARD_TOKEN=… BOARD=… node examples/remind-overdue.ts
import { createClient } from "@board/client";

const url = process.env.BOARD_URL ?? "http://127.0.0.1:8000";
const you = createClient({ url, token: process.env.BOARD_TOKEN! });
const path = { board_id: process.env.BOARD! };
const now = new Date();

const names = new Map<string, string>();
for await (const { id, name } of you.list("/api/v1/agents", { params: { query: path } })) names.set(id, name);

// Tasks are sorted by due_at, and tasks without a due_at come last, so reading ends at the first task that is not overdue.
const query = { sort: "due_at" as const, status: "inbox,in_progress,blocked" };
for await (const task of you.list("/api/v1/boards/{board_id}/tasks", { params: { path, query } })) {
  if (!task.due_at || new Date(task.due_at) >= now) break;
  const name = task.assigned_agent_id && names.get(task.assigned_agent_id);
  const content = `${name ? `@${name} ` : ""}This was due ${task.due_at.slice(0, 10)}. What is missing?`;
  await you.post("/api/v1/boards/{board_id}/tasks/{task_id}/comments", {
    // One reminder for each task and day, even if this program runs again.
    params: {
      path: { ...path, task_id: task.id },
      header: { "Idempotency-Key": `overdue-${task.id}-${now.toISOString().slice(0, 10)}` },
    },
    body: { content },
  });
  console.log(`Reminded: ${task.title}`);
}
