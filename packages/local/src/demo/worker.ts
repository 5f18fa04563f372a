import type { Task } from "@board/client/api";
import { ApiError } from "@board/client/error";
import { taskScriptFor } from "./canned-answers.ts";
import type { Agent } from "./setup.ts";
import { type DemoContext, wait } from "./demo-context.ts";
import { type AgentMessage, receiveMessages } from "./agent-messages.ts";
import { waitForProvisioning, updateTask, postComment, moveTask, readTask, sendHeartbeat } from "./agent-actions.ts";

const READING_MS = 250;
/** Agents claim tasks at multiples of this time, so that they compete for the same task. */
const CHOOSING_MS = 500;
const WORKING_MS = 700;

interface WorkerState {
  demo: DemoContext;
  agent: Agent;
  /** Tasks that wait for the answer to a question. */
  awaiting_answer: Set<string>;
}

/** Handles the messages to a worker, and looks for unassigned tasks at each heartbeat. */
export async function runWorker(demo: DemoContext, agent: Agent): Promise<void> {
  const state: WorkerState = { demo, agent, awaiting_answer: new Set() };
  const waking = receiveMessages(demo, agent.session_key);
  await waitForProvisioning(demo, agent);
  for await (const wake of waking) {
    await sendHeartbeat(agent);
    if (wake) await handleMessage(state, wake);
    else await claimFreeTask(state);
  }
}

async function handleMessage(state: WorkerState, { header, task_ids: [id] }: AgentMessage): Promise<void> {
  const { demo, agent, awaiting_answer } = state;
  if (!id) return;
  await wait(demo, READING_MS);
  const task = await readTask(agent, id);
  const script = taskScriptFor(task.title);
  if (header === "TASK ASSIGNED") await startTask(state, await moveTask(demo, agent, task, "in_progress"));
  if (header === "CHANGES REQUESTED")
    await submitForReview(state, await moveTask(demo, agent, task, "in_progress"), script.rework ?? script.result);
  if (header === "NEW TASK COMMENT" && awaiting_answer.delete(id)) await submitForReview(state, task, script.result);
}

/** Claims the oldest unassigned task if the worker has no task. */
async function claimFreeTask(state: WorkerState): Promise<void> {
  const { demo, agent } = state;
  const list = (query: { status: string; assigned_agent_id?: string; unassigned?: boolean; limit: number }) =>
    agent.api.get("/api/v1/agent/boards/{board_id}/tasks", { params: { path: { board_id: agent.board_id }, query } });
  const assigned = await list({ assigned_agent_id: agent.id, status: "inbox,in_progress", limit: 1 });
  if (assigned.total > 0) return;
  const unassigned = await list({ unassigned: true, status: "inbox", limit: 200 });
  const task = unassigned.items.findLast(({ is_blocked }) => !is_blocked);
  if (!task) return;
  await wait(demo, CHOOSING_MS - (performance.now() % CHOOSING_MS));
  const claimed = await claim(demo, agent, task);
  if (claimed) await startTask(state, claimed);
}

/** Claims an unassigned task by moving it. If two agents do so at the same time, one of them gets 409. */
async function claim(demo: DemoContext, agent: Agent, task: Task): Promise<Task | undefined> {
  const number = demo.statistics.taskLabel(task.id);
  try {
    const claimed = await updateTask(demo, agent, task, { status: "in_progress" });
    demo.log.write(agent.who, `claims ${number}, which was unassigned`);
    return claimed;
  } catch (error) {
    if (!(error instanceof ApiError) || !error.code?.startsWith("task_")) throw error;
    demo.log.write(agent.who, `wants ${number} too → ${error.status} ${error.code}`);
    return undefined;
  }
}

async function startTask(state: WorkerState, task: Task): Promise<void> {
  const { demo, agent, awaiting_answer } = state;
  const { finding, question, result } = taskScriptFor(task.title);
  if (finding) {
    await wait(demo, WORKING_MS);
    await postComment(demo, agent, task.id, finding, "comments on");
  }
  if (!question) return submitForReview(state, task, result);
  await wait(demo, WORKING_MS);
  awaiting_answer.add(task.id);
  await postComment(demo, agent, task.id, question, "asks in");
}

async function submitForReview({ demo, agent }: WorkerState, task: Task, result: string): Promise<void> {
  await wait(demo, WORKING_MS);
  await moveTask(demo, agent, task, "review", result);
}
