import type { Task, TaskUpdate } from "@board/client/api";
import type { Agent } from "./setting.ts";
import { type Stage, until } from "./stage.ts";
import { isSetUp } from "./wake.ts";

/** An agent whose host takes longer begins without its files. */
const SETTING_UP_MS = 30_000;

/** The path parameters of a task on the board of an agent. */
const taskOf = ({ board_id }: Agent, task_id: string) => ({ path: { board_id, task_id } });

export const readTask = (agent: Agent, task_id: string): Promise<Task> =>
  agent.api.get("/api/v1/boards/{board_id}/tasks/{task_id}", { params: taskOf(agent, task_id) });

/** The last thing that somebody else said about a task. */
export async function lastWords(agent: Agent, task_id: string): Promise<string> {
  const said = await agent.api.get("/api/v1/agent/boards/{board_id}/tasks/{task_id}/comments", {
    params: { ...taskOf(agent, task_id), query: { limit: 200 } },
  });
  return said.items.findLast(({ agent_id }) => agent_id !== agent.id)?.message ?? "";
}

export const sendHeartbeat = ({ api }: Agent) => api.post("/api/v1/agent/heartbeat");

/** The first of an agent's turns, once its workspace is there. */
export async function appear(stage: Stage, agent: Agent): Promise<void> {
  await until(stage, () => isSetUp(stage, agent.session_key), SETTING_UP_MS);
  const me = await sendHeartbeat(agent);
  stage.screen.tell(agent.who, `has its files and its token, and is ${me.status}`);
}

/** Changes a task; nothing is told. */
export async function change({ tally }: Stage, agent: Agent, task: Task, changes: TaskUpdate): Promise<Task> {
  tally.stirs(task.id);
  const changed = await agent.api.patch("/api/v1/agent/boards/{board_id}/tasks/{task_id}", {
    params: taskOf(agent, task.id),
    body: changes,
  });
  tally.seen(changed);
  return changed;
}

/** Moves a task, with a comment where there is something to say. */
export async function move(stage: Stage, agent: Agent, task: Task, status: Task["status"], comment?: string): Promise<Task> {
  const { screen, tally } = stage;
  const moved = await change(stage, agent, task, { status, ...(comment ? { comment } : {}) });
  if (comment) tally.commented();
  const words = comment ? `: ${comment}` : "";
  screen.tell(agent.who, `moves ${tally.numberOf(task.id)} to ${status}${words}`, status === "done");
  return moved;
}

/** Says something about a task. `how` begins the line of the log. */
export async function comment(
  { screen, tally }: Stage,
  agent: Agent,
  task_id: string,
  content: string,
  how: string,
): Promise<void> {
  tally.stirs(task_id);
  await agent.api.post("/api/v1/agent/boards/{board_id}/tasks/{task_id}/comments", {
    params: taskOf(agent, task_id),
    body: { content },
  });
  tally.commented();
  screen.tell(agent.who, `${how} ${tally.numberOf(task_id)}: ${content}`);
}
