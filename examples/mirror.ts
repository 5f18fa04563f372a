// Keeps a copy of a board's tasks in a file. Each run of this program reads only what has changed since the previous run.
// Run: BOARD_TOKEN=… BOARD=… MIRROR=tasks.json node examples/mirror.ts
import { existsSync, readFileSync, renameSync, writeFileSync } from "node:fs";
import { ApiError, createClient, type Task } from "@board/client";

interface Mirror {
  /** The position in the feed of changes up to which `tasks` contains all changes. */
  cursor: string;
  tasks: Record<string, Task>;
}

const url = process.env.BOARD_URL ?? "http://127.0.0.1:8000";
const you = createClient({ url, token: process.env.BOARD_TOKEN! });
const board_id = process.env.BOARD!;
const file = process.env.MIRROR ?? "tasks.json";

/** Reads all tasks. The position is read before the list, so that a task that changes in between is read again. */
async function readAll(): Promise<Mirror> {
  const { cursor } = await you.get("/api/v1/changes", { params: { query: { board_id } } });
  const tasks: Mirror["tasks"] = {};
  const params = { path: { board_id }, query: { limit: 200 } };
  for await (const task of you.list("/api/v1/boards/{board_id}/tasks", { params })) tasks[task.id] = task;
  return { cursor, tasks };
}

async function update(mirror: Mirror): Promise<void> {
  for await (const { id, cursor } of you.changes({ cursor: mirror.cursor, board_id, types: ["task"], live: false })) {
    const params = { path: { board_id, task_id: id } };
    const task = await you.get("/api/v1/boards/{board_id}/tasks/{task_id}", { params }).catch((error: unknown) => {
      if (error instanceof ApiError && error.status === 404) return null;
      throw error;
    });
    if (task) mirror.tasks[id] = task;
    else delete mirror.tasks[id];
    mirror.cursor = cursor;
  }
}

let mirror: Mirror = existsSync(file) ? JSON.parse(readFileSync(file, "utf8")) : await readAll();
await update(mirror).catch(async (error: unknown) => {
  // 410: the feed keeps changes for a week, so after a longer break all tasks are read again.
  if (!(error instanceof ApiError && error.status === 410)) throw error;
  mirror = await readAll();
});

// Written to another file first, so that an interruption leaves the old copy intact.
writeFileSync(`${file}.new`, JSON.stringify(mirror, null, 2));
renameSync(`${file}.new`, file);
console.log(`${Object.keys(mirror.tasks).length} tasks in ${file}`);
