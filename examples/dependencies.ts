// Tasks that depend on each other: an agent can take a task only when all tasks before it are done.
// Run: BOARD_TOKEN=… AGENT_TOKEN=… BOARD=… node examples/dependencies.ts
import { ApiError, createClient } from "@board/client";

const url = process.env.BOARD_URL ?? "http://127.0.0.1:8000";
const you = createClient({ url, token: process.env.BOARD_TOKEN! });
const agent = createClient({ url, agent_token: process.env.AGENT_TOKEN! });
const path = { board_id: process.env.BOARD! };
const TASK = "/api/v1/boards/{board_id}/tasks/{task_id}";

async function addTask(title: string, depends_on_task_ids: string[] = []): Promise<string> {
  const body = { title, depends_on_task_ids };
  return (await you.post("/api/v1/boards/{board_id}/tasks", { params: { path }, body })).id;
}

const buy = await addTask("Buy paint");
const paint = await addTask("Paint the hall", [buy]);
const hang = await addTask("Hang the lamps", [paint]);

try {
  await you.patch(TASK, { params: { path: { ...path, task_id: buy } }, body: { depends_on_task_ids: [hang] } });
} catch (error) {
  if (!(error instanceof ApiError)) throw error;
  console.log(`Refused: ${error.message}`);
}

// None of the three tasks is assigned, but the agent always gets the task that does not wait for another task.
for (;;) {
  const { task } = await agent.post("/api/v1/agent/tasks/next", { body: {} });
  if (!task) break;
  console.log(`Ready: ${task.title}`);
  await you.patch(TASK, { params: { path: { ...path, task_id: task.id } }, body: { status: "done" } });
}
