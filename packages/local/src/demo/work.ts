import type { AgentRead } from "@board/core/agent/agent";
import type { Page } from "@board/core/page";
import type { TaskComment } from "@board/core/task/comment";
import type { Task, TaskStatus } from "@board/core/task/task";
import type { Agent } from "./setting.ts";
import type { Stage } from "./stage.ts";

/** The board's tasks as its agents reach them. */
export const tasksPath = ({ board_id }: Agent, rest = ""): string => `/api/v1/agent/boards/${board_id}/tasks${rest}`;

export const readTask = ({ call, board_id }: Agent, task_id: string): Promise<Task> =>
  call<Task>("GET", `/api/v1/boards/${board_id}/tasks/${task_id}`);

/** The last thing that somebody else said about a task. */
export async function lastWords(agent: Agent, task_id: string): Promise<string> {
  const said = await agent.call<Page<TaskComment>>("GET", `${tasksPath(agent, `/${task_id}/comments`)}?limit=200`);
  return said.items.findLast(({ agent_id }) => agent_id !== agent.id)?.message ?? "";
}

export async function sendHeartbeat({ call }: Agent): Promise<AgentRead> {
  return call<AgentRead>("POST", "/api/v1/agent/heartbeat");
}

/** The first of an agent's turns. */
export async function appear({ screen }: Stage, agent: Agent): Promise<void> {
  const me = await sendHeartbeat(agent);
  screen.tell(agent.who, `sends a first heartbeat and is ${me.status}`);
}

/** Changes a task; nothing is told. */
export async function change({ tally }: Stage, agent: Agent, task: Task, changes: object): Promise<Task> {
  tally.stirs(task.id);
  const changed = await agent.call<Task>("PATCH", tasksPath(agent, `/${task.id}`), changes);
  tally.seen(changed);
  return changed;
}

/** Moves a task, with a comment where there is something to say. */
export async function move(stage: Stage, agent: Agent, task: Task, status: TaskStatus, comment?: string): Promise<Task> {
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
  await agent.call<TaskComment>("POST", tasksPath(agent, `/${task_id}/comments`), { content });
  tally.commented();
  screen.tell(agent.who, `${how} ${tally.numberOf(task_id)}: ${content}`);
}
