import { createClient } from "@board/client/client";
import { ApiError } from "@board/client/error";
import type { Demo } from "./demo.ts";
import { NAME } from "./judgement.ts";
import type { DemoBoard } from "./set-up.ts";

/** The time for one answer of the model. It is shorter than a real model needs, so that the demo is quick to watch. */
const TURN_MS = 1_500;
const TURN = { model: "scripted-model", input_tokens: 9_000, output_tokens: 1_000, cost_usd: "0.06" };
const LIMIT = { total_tokens: 40_000 };

/** Creates a task that its agent would never finish, and a budget for that agent. */
export async function createTaskWithoutEnd({ api, ...demo }: Demo, { board_id, agents, tag_ids }: DemoBoard): Promise<void> {
  const budget = { scope: "agent" as const, scope_id: agents.Otto.id, period: "day" as const, limit: LIMIT };
  await api.post("/api/v1/budgets", { body: budget });
  demo.say("you", `give Otto a budget of ${LIMIT.total_tokens.toLocaleString("en")} tokens a day`);
  const body = { title: NAME.title, assigned_agent_id: agents.Otto.id, tag_ids: NAME.tags.map((tag) => tag_ids[tag]) };
  const { id } = await api.post("/api/v1/boards/{board_id}/tasks", { params: { path: { board_id } }, body });
  demo.say("you", `create ${demo.label(id)} ${NAME.title} for Otto`);
}

/** Takes the task and reports the tokens of each answer, until the budget is spent and the service ends the lease. */
export async function runSpender(demo: Demo, { agents }: DemoBoard): Promise<void> {
  const api = createClient({ url: demo.url, agent_token: agents.Otto.token, signal: demo.signal });
  const say = (what: string, strong?: boolean) => demo.say("Otto", what, strong);
  // The agent starts only when the first task of a customer is done, because the demo is easier to follow with one story at a
  // time.
  while (demo.done_tasks === 0) await demo.wait(TURN_MS / 3);
  const { task, lease } = await api.post("/api/v1/agent/tasks/next", { body: {} });
  if (!task || !lease) throw new Error("Otto got no task.");
  const label = demo.label(task.id);
  say(`takes ${label} ${task.title}`);
  for (let used = 0, is_spent = false; !is_spent; ) {
    await demo.wait(TURN_MS);
    const entry = { key: crypto.randomUUID(), task_id: task.id, ...TURN };
    const { exhausted_budget_ids } = await api.post("/api/v1/agent/usage", { body: { entries: [entry] } });
    used += TURN.input_tokens + TURN.output_tokens;
    is_spent = exhausted_budget_ids.length > 0;
    say(`has used ${used.toLocaleString("en")} tokens for ${label}${is_spent ? ": its budget is spent" : ""}`, is_spent);
  }
  // An agent that continues after its budget is spent can no longer write.
  const path = { board_id: task.board_id, task_id: task.id };
  const params = { path, header: { "X-Task-Fence": lease.fence } };
  const body = { status: "review" as const, comment: "it needs more thought" };
  const refusal: unknown = await api
    .patch("/api/v1/agent/boards/{board_id}/tasks/{task_id}", { params, body })
    .catch((error: unknown) => error);
  if (!(refusal instanceof ApiError)) throw new Error("Otto still writes to a task of a stopped run.", { cause: refusal });
  say(`moves ${label} to review → ${refusal.status}, its run was stopped`, true);
  const { reason } = await api.post("/api/v1/agent/tasks/next", { body: {} });
  say(`asks for work → ${reason}`, true);
}
