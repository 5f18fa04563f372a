// Writes a board to a file: its rules, tasks with comments, memory, approvals and agents, as the API shows them.
// Run: BOARD_TOKEN=… BOARD=… node examples/export-board.ts > board.json
import { createClient } from "@board/client";

const url = process.env.BOARD_URL ?? "http://127.0.0.1:8000";
const you = createClient({ url, token: process.env.BOARD_TOKEN! });
const path = { board_id: process.env.BOARD! };
const whole = { path, query: { limit: 200 } };

async function collect<T>(items: AsyncIterable<T>): Promise<T[]> {
  const all: T[] = [];
  for await (const item of items) all.push(item);
  return all;
}

const board = await you.get("/api/v1/boards/{board_id}", { params: { path } });

const tasks = [];
for await (const task of you.list("/api/v1/boards/{board_id}/tasks", { params: whole })) {
  const params = { path: { ...path, task_id: task.id }, query: { limit: 200 } };
  const comments = await collect(you.list("/api/v1/boards/{board_id}/tasks/{task_id}/comments", { params }));
  tasks.push({ ...task, comments });
}

const [memory, approvals, agents, webhooks] = await Promise.all([
  collect(you.list("/api/v1/boards/{board_id}/memory", { params: whole })),
  collect(you.list("/api/v1/boards/{board_id}/approvals", { params: whole })),
  collect(you.list("/api/v1/agents", { params: { query: { ...whole.query, board_id: path.board_id } } })),
  collect(you.list("/api/v1/boards/{board_id}/webhooks", { params: whole })),
]);

// A list shortens long texts and names them in `truncated_fields`. Read such an item by its id to get the whole text.
const shortened = [...tasks, ...memory].filter((item) => "truncated_fields" in item).length;
const exported = { exported_at: new Date().toISOString(), board, agents, tasks, memory, approvals, webhooks };
console.log(JSON.stringify(exported, null, 2));
console.error(`${tasks.length} tasks, ${memory.length} memory entries, ${shortened} shortened`);
