import { ApiError, type Client, createClient, type Task } from "@board/client";

const url = "http://127.0.0.1:8000";
const you = createClient({ url, token: process.env["TOKEN"]! });

/** Creates a board with an agent on it and returns a client for that agent. */
export async function hire(gateway_id: string): Promise<{ board_id: string; agent: Client }> {
  const board = await you.post("/api/v1/boards", {
    body: { name: "Web shop", description: "Keep the shop running", gateway_id },
  });
  const created = await you.post("/api/v1/agents", { body: { name: "Milo", board_id: board.id } });
  return { board_id: board.id, agent: createClient({ url, agent_token: created.auth_token! }) };
}

/** Takes the oldest free task. Returns null without a free task, or when another agent took it first. */
export async function takeTask(agent: Client, board_id: string): Promise<Task | null> {
  const free = await agent.get("/api/v1/agent/boards/{board_id}/tasks", {
    params: { path: { board_id }, query: { status: "inbox", unassigned: true, limit: 200 } },
  });
  const task = free.items.findLast(({ is_blocked }) => !is_blocked);
  if (!task) return null;
  try {
    return await agent.patch("/api/v1/agent/boards/{board_id}/tasks/{task_id}", {
      params: { path: { board_id, task_id: task.id } },
      body: { status: "in_progress" },
    });
  } catch (error) {
    if (error instanceof ApiError && error.code === "task_already_claimed") return null;
    throw error;
  }
}

/** Approves every request of the agents until the signal is aborted. */
export async function approveAll(board_id: string, signal: AbortSignal): Promise<void> {
  const params = { path: { board_id } };
  for await (const { data } of you.stream("/api/v1/boards/{board_id}/approvals/stream", { params, signal })) {
    const { id: approval_id, status } = data.approval;
    if (status === "pending")
      await you.patch("/api/v1/boards/{board_id}/approvals/{approval_id}", {
        params: { path: { board_id, approval_id } },
        body: { status: "approved" },
      });
  }
}
