/** Calls that must compile and calls that must not. This file is only type-checked, never run. */
import type { Approval, Task, TaskPage } from "@board/client/api";
import { createClient } from "@board/client/client";

const api = createClient({ url: "http://127.0.0.1:8000", token: "a person's token" });
const board = { path: { board_id: "7b0ad7c5-93f3-4d1e-9c2f-7a3f4a3d8e11" } };
const task = { path: { ...board.path, task_id: "0d9e4b56-4f0e-4c8e-8a9f-6a1a2b3c4d5e" } };

export async function validCalls(): Promise<void> {
  const page: TaskPage = await api.get("/api/v1/boards/{board_id}/tasks", { params: { ...board, query: { unassigned: true } } });
  const created: Task = await api.post("/api/v1/boards/{board_id}/tasks", { params: board, body: { title: "Count the lamps" } });
  const moved = await api.patch("/api/v1/boards/{board_id}/tasks/{task_id}", { params: task, body: { status: "review" } });
  const values: (string | null)[] = [page.items[0]!.title, created.assigned_agent_id, moved.status];
  await api.post("/api/v1/agent/heartbeat");
  for await (const { id, data } of api.stream("/api/v1/boards/{board_id}/approvals/stream", { params: board }))
    values.push(id, (data.approval satisfies Approval).status);
}

export async function invalidCalls(): Promise<void> {
  // @ts-expect-error there is no such path
  await api.get("/api/v1/bords");
  // @ts-expect-error a list is not deleted
  await api.delete("/api/v1/boards");
  // @ts-expect-error the board is missing
  await api.get("/api/v1/boards/{board_id}/tasks");
  // @ts-expect-error a parameter has another name
  await api.get("/api/v1/boards/{board_id}/tasks", { params: { path: { id: board.path.board_id } } });
  // @ts-expect-error there is no such query parameter
  await api.get("/api/v1/boards/{board_id}/tasks", { params: { ...board, query: { free: true } } });
  // @ts-expect-error a task needs a title
  await api.post("/api/v1/boards/{board_id}/tasks", { params: board, body: { priority: "high" } });
  // @ts-expect-error a field name is misspelled
  await api.post("/api/v1/boards/{board_id}/tasks", { params: board, body: { title: "Count", descripton: "All of them" } });
  // @ts-expect-error tasks have no such status
  await api.patch("/api/v1/boards/{board_id}/tasks/{task_id}", { params: task, body: { status: "finished" } });
  // @ts-expect-error a title is never null
  await api.patch("/api/v1/boards/{board_id}/tasks/{task_id}", { params: task, body: { title: null } });
  const found = await api.get("/api/v1/boards/{board_id}/tasks/{task_id}", { params: task });
  // @ts-expect-error a response has no such field
  found.state satisfies unknown;
  // @ts-expect-error the assignee may be null
  found.assigned_agent_id satisfies string;
  // @ts-expect-error a stream is not an ordinary operation
  await api.get("/api/v1/boards/{board_id}/approvals/stream", { params: board });
  // @ts-expect-error a list is not a stream
  api.stream("/api/v1/boards/{board_id}/approvals", { params: board });
}
