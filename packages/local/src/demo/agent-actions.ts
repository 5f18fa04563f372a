import type { Task, TaskUpdate } from "@board/client/api";
import type { Agent } from "./setup.ts";
import { type DemoContext, waitUntil } from "./demo-context.ts";
import { isProvisioned } from "./agent-messages.ts";

/** After this time an agent starts without its files. */
const PROVISIONING_TIMEOUT_MS = 30_000;

/** The path parameters of a task on the board of an agent. */
const taskParams = ({ board_id }: Agent, task_id: string) => ({ path: { board_id, task_id } });

export const readTask = (agent: Agent, task_id: string): Promise<Task> =>
  agent.api.get("/api/v1/boards/{board_id}/tasks/{task_id}", { params: taskParams(agent, task_id) });

/** Returns the latest comment on a task by another author. */
export async function latestCommentText(agent: Agent, task_id: string): Promise<string> {
  const comments = await agent.api.get("/api/v1/agent/boards/{board_id}/tasks/{task_id}/comments", {
    params: { ...taskParams(agent, task_id), query: { limit: 200 } },
  });
  return comments.items.findLast(({ agent_id }) => agent_id !== agent.id)?.message ?? "";
}

export const sendHeartbeat = ({ api }: Agent) => api.post("/api/v1/agent/heartbeat");

/** Waits until the agent's workspace exists, then sends its first heartbeat. */
export async function waitForProvisioning(demo: DemoContext, agent: Agent): Promise<void> {
  await waitUntil(demo, () => isProvisioned(demo, agent.session_key), PROVISIONING_TIMEOUT_MS);
  const { status } = await sendHeartbeat(agent);
  demo.log.write(agent.who, `has its files and its token, and is ${status}`);
}

/** Updates a task without writing a line to the log. */
export async function updateTask({ statistics }: DemoContext, agent: Agent, task: Task, changes: TaskUpdate): Promise<Task> {
  statistics.recordCause(task.id);
  const changed = await agent.api.patch("/api/v1/agent/boards/{board_id}/tasks/{task_id}", {
    params: taskParams(agent, task.id),
    body: changes,
  });
  statistics.recordTask(changed);
  return changed;
}

/** Moves a task, optionally with a comment. */
export async function moveTask(
  demo: DemoContext,
  agent: Agent,
  task: Task,
  status: Task["status"],
  comment?: string,
): Promise<Task> {
  const { log, statistics } = demo;
  const moved = await updateTask(demo, agent, task, { status, ...(comment ? { comment } : {}) });
  if (comment) statistics.recordComment();
  const words = comment ? `: ${comment}` : "";
  log.write(agent.who, `moves ${statistics.taskLabel(task.id)} to ${status}${words}`, status === "done");
  return moved;
}

/** Comments on a task. The line in the log begins with `verb`. */
export async function postComment(
  { log, statistics }: DemoContext,
  agent: Agent,
  task_id: string,
  content: string,
  verb: string,
): Promise<void> {
  statistics.recordCause(task_id);
  await agent.api.post("/api/v1/agent/boards/{board_id}/tasks/{task_id}/comments", {
    params: taskParams(agent, task_id),
    body: { content },
  });
  statistics.recordComment();
  log.write(agent.who, `${verb} ${statistics.taskLabel(task_id)}: ${content}`);
}
