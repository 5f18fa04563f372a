import type { Task } from "@board/client/api";
import { ApiError } from "@board/client/error";
import { answerFor, findFlaw } from "./canned-answers.ts";
import { triage, type TaskPlan, tagFor } from "./triage.ts";
import type { Agent } from "./setup.ts";
import { type DemoContext, wait } from "./demo-context.ts";
import { type AgentMessage, receiveMessages } from "./agent-messages.ts";
import {
  waitForProvisioning,
  updateTask,
  postComment,
  latestCommentText,
  moveTask,
  readTask,
  sendHeartbeat,
} from "./agent-actions.ts";

/** Maximum number of characters of a payload that the lead reads. */
const MAX_CHARS = 1_500;
/** A short pause, so that the log can be followed. A model would take longer. */
const THINKING_MS = 500;

interface LeadState {
  demo: DemoContext;
  agent: Agent;
  /** Set once the lead has learned that tasks need an approval before they are done. */
  requires_approval: boolean;
}

/** Handles the messages to the lead, one after the other. */
export async function runLead(demo: DemoContext, agent: Agent): Promise<void> {
  const state: LeadState = { demo, agent, requires_approval: false };
  const waking = receiveMessages(demo, agent.session_key);
  await waitForProvisioning(demo, agent);
  for await (const wake of waking) {
    await sendHeartbeat(agent);
    if (wake) await handleMessage(state, wake);
  }
}

async function handleMessage(state: LeadState, { header, payload, task_ids, decision }: AgentMessage): Promise<void> {
  const { demo, agent } = state;
  if (payload) return handlePayload(state, payload);
  // The lead reads comments during the review.
  if (header === "NEW TASK COMMENT") return;
  await wait(demo, THINKING_MS);
  for (const id of task_ids) {
    const task = await readTask(agent, id);
    if (header === "NEW TASK ADDED") await tagTask(state, task);
    if (header === "TASK MENTION")
      await postComment(demo, agent, id, answerFor(await latestCommentText(agent, id)), "answers in");
    if (header === "TASK READY FOR LEAD REVIEW") await reviewTask(state, task);
    if (header === "APPROVAL RESOLVED" && decision === "approved") await moveTask(demo, agent, task, "done");
    if (header === "APPROVAL RESOLVED" && decision === "rejected")
      await rejectTask(state, task, "not approved, find a cheaper way");
  }
}

async function handlePayload(
  { demo, agent }: LeadState,
  { id, webhook_id }: NonNullable<AgentMessage["payload"]>,
): Promise<void> {
  const { log, statistics } = demo;
  const { payload } = await agent.api.get("/api/v1/agent/boards/{board_id}/webhooks/{webhook_id}/payloads/{payload_id}", {
    params: { path: { board_id: agent.board_id, webhook_id, payload_id: id }, query: { max_chars: MAX_CHARS } },
  });
  const length = typeof payload === "string" ? payload.length : JSON.stringify(payload).length;
  log.write(agent.who, `reads ${length === MAX_CHARS ? "the first " : ""}${length} characters`);
  await wait(demo, THINKING_MS);
  const { tasks, note } = triage(payload);
  if (note) {
    await agent.api.post("/api/v1/agent/boards/{board_id}/memory", {
      params: boardParams(agent),
      body: { content: note.text, tags: [...note.tags, `payload:${id}`] },
    });
    statistics.recordNote();
    log.write(agent.who, `notes: ${note.text}`);
  }
  await createTasks(demo, agent, tasks, id);
  statistics.recordHandledPayload(id);
}

const boardParams = ({ board_id }: Agent) => ({ path: { board_id } });

const listTags = (agent: Agent) => agent.api.get("/api/v1/agent/boards/{board_id}/tags", { params: boardParams(agent) });

/** Each task contains the payload id, so that work can be traced back to its cause. */
async function createTasks(demo: DemoContext, agent: Agent, plans: TaskPlan[], payload_id: string): Promise<void> {
  if (plans.length === 0) return;
  const { log, statistics } = demo;
  const agents = (await agent.api.get("/api/v1/agent/agents")).items;
  const tags = await listTags(agent);
  let previous: Task | undefined;
  for (const plan of plans) {
    const worker = agents.find(({ name }) => name === plan.worker_name);
    const task = await agent.api.post("/api/v1/agent/boards/{board_id}/tasks", {
      params: boardParams(agent),
      body: {
        title: plan.title,
        description: `${plan.description}\nPayload ${payload_id}`,
        priority: plan.priority,
        tag_ids: tags.filter(({ slug }) => plan.tags.includes(slug)).map(({ id }) => id),
        assigned_agent_id: worker?.id ?? null,
        depends_on_task_ids: plan.depends_on_previous && previous ? [previous.id] : [],
      },
    });
    statistics.recordTask(task, payload_id);
    const labels = [task.priority, ...task.tags.map(({ name }) => name)].join(", ");
    const assignment = worker
      ? `for ${worker.name}`
      : task.is_blocked
        ? `after ${statistics.taskLabel(previous!.id)}`
        : "unassigned";
    log.write(agent.who, `creates ${statistics.taskLabel(task.id)} ${task.title} (${labels}) ${assignment}`);
    previous = task;
  }
}

/** Tags a task that a person has created. */
async function tagTask({ demo, agent }: LeadState, task: Task): Promise<void> {
  const tag = (await listTags(agent)).find(({ slug }) => slug === tagFor(task.title));
  if (!tag) return;
  await updateTask(demo, agent, task, { tag_ids: [tag.id] });
  demo.log.write(agent.who, `tags ${demo.statistics.taskLabel(task.id)} with ${tag.name}`);
}

async function reviewTask(state: LeadState, task: Task): Promise<void> {
  const { demo, agent } = state;
  const result = await latestCommentText(agent, task.id);
  const flaw = findFlaw(task.title, result);
  if (flaw) return rejectTask(state, task, flaw);
  if (state.requires_approval) return requestApproval(state, task, result);
  try {
    await moveTask(demo, agent, task, "done");
  } catch (error) {
    if (!(error instanceof ApiError)) throw error;
    const number = demo.statistics.taskLabel(task.id);
    demo.log.write(agent.who, `moves ${number} to done → ${error.status}, because of your rule:`, true);
    demo.log.write(agent.who, error.message);
    state.requires_approval = true;
    await requestApproval(state, task, result);
  }
}

/** The service assigns the task to its previous worker again. */
async function rejectTask({ demo, agent }: LeadState, task: Task, why: string): Promise<void> {
  await moveTask(demo, agent, task, "inbox", why);
}

async function requestApproval({ demo, agent }: LeadState, task: Task, result: string): Promise<void> {
  const { log, statistics } = demo;
  await agent.api.post("/api/v1/agent/boards/{board_id}/approvals", {
    params: boardParams(agent),
    body: { action_type: "task.done", description: result, task_id: task.id, confidence: 90 },
  });
  statistics.recordApprovalRequest();
  log.write(agent.who, `asks you to approve ${statistics.taskLabel(task.id)}: ${result}`);
}
