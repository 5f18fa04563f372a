// Changes a text that somebody else may be editing: If-Match makes the service refuse a change that is based on an old version.
// Run: BOARD_TOKEN=… BOARD=… TASK=… node examples/edit-without-overwriting.ts
import { ApiError, createClient, type Task } from "@board/client";

const url = process.env.BOARD_URL ?? "http://127.0.0.1:8000";
const you = createClient({ url, token: process.env.BOARD_TOKEN! });
const params = { path: { board_id: process.env.BOARD!, task_id: process.env.TASK! } };
const TASK = "/api/v1/boards/{board_id}/tasks/{task_id}";

/** Reads the task and writes what `change` returns. If somebody else was faster, it reads the task again and retries. */
async function edit(change: (task: Task) => { description: string }): Promise<Task> {
  for (let attempt = 1; ; attempt++) {
    const { data: task, headers } = await you.send("get", TASK, { params });
    const body = change(task);
    try {
      return await you.patch(TASK, { params, body, headers: { "If-Match": headers.get("ETag")! } });
    } catch (error) {
      // 412: the task was changed after it was read.
      if (!(error instanceof ApiError && error.status === 412) || attempt === 5) throw error;
      console.log(`Somebody was faster, attempt ${attempt + 1}`);
    }
  }
}

const line = `- ${process.env.LINE ?? "checked the cellar"}`;
const task = await edit(({ description }) => ({ description: [description, line].filter(Boolean).join("\n") }));
console.log(task.description);
