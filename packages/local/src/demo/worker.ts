import type { Task } from "@board/client/api";
import { ApiError } from "@board/client/error";
import { craftOf } from "./knowledge.ts";
import type { Agent } from "./setting.ts";
import { type Stage, wait } from "./stage.ts";
import { type Wake, wakes } from "./wake.ts";
import { appear, change, comment, move, readTask, sendHeartbeat } from "./work.ts";

const READING_MS = 250;
/** Agents choose at full half seconds, so that those who want the same task want it at the same moment. */
const CHOOSING_MS = 500;
const WORKING_MS = 700;

interface Mind {
  stage: Stage;
  me: Agent;
  /** Tasks that stand still until a question is answered. */
  waiting: Set<string>;
}

/** A worker does what it is told of, and looks for free tasks by its own clock. */
export async function playWorker(stage: Stage, me: Agent): Promise<void> {
  const mind: Mind = { stage, me, waiting: new Set() };
  const waking = wakes(stage, me.session_key);
  await appear(stage, me);
  for await (const wake of waking) {
    await sendHeartbeat(me);
    if (wake) await takeTurn(mind, wake);
    else await lookAround(mind);
  }
}

async function takeTurn(mind: Mind, { header, task_ids: [id] }: Wake): Promise<void> {
  const { stage, me, waiting } = mind;
  if (!id) return;
  await wait(stage, READING_MS);
  const task = await readTask(me, id);
  const craft = craftOf(task.title);
  if (header === "TASK ASSIGNED") await work(mind, await move(stage, me, task, "in_progress"));
  if (header === "CHANGES REQUESTED")
    await handOver(mind, await move(stage, me, task, "in_progress"), craft.rework ?? craft.result);
  if (header === "NEW TASK COMMENT" && waiting.delete(id)) await handOver(mind, task, craft.result);
}

/** With nothing in hand it takes the oldest task that is free. */
async function lookAround(mind: Mind): Promise<void> {
  const { stage, me } = mind;
  const list = (query: { status: string; assigned_agent_id?: string; unassigned?: boolean; limit: number }) =>
    me.api.get("/api/v1/agent/boards/{board_id}/tasks", { params: { path: { board_id: me.board_id }, query } });
  const own = await list({ assigned_agent_id: me.id, status: "inbox,in_progress", limit: 1 });
  if (own.total > 0) return;
  const free = await list({ unassigned: true, status: "inbox", limit: 200 });
  const task = free.items.findLast(({ is_blocked }) => !is_blocked);
  if (!task) return;
  await wait(stage, CHOOSING_MS - (performance.now() % CHOOSING_MS));
  const claimed = await claim(stage, me, task);
  if (claimed) await work(mind, claimed);
}

/** Moving a free task takes it. Of two who do it at once one is refused. */
async function claim(stage: Stage, me: Agent, task: Task): Promise<Task | undefined> {
  const number = stage.tally.numberOf(task.id);
  try {
    const claimed = await change(stage, me, task, { status: "in_progress" });
    stage.screen.tell(me.who, `takes ${number}, which was free`);
    return claimed;
  } catch (error) {
    if (!(error instanceof ApiError) || !error.code?.startsWith("task_")) throw error;
    stage.screen.tell(me.who, `wants ${number} too → ${error.status} ${error.code}`);
    return undefined;
  }
}

async function work(mind: Mind, task: Task): Promise<void> {
  const { stage, me, waiting } = mind;
  const { finding, question, result } = craftOf(task.title);
  if (finding) {
    await wait(stage, WORKING_MS);
    await comment(stage, me, task.id, finding, "comments on");
  }
  if (!question) return handOver(mind, task, result);
  await wait(stage, WORKING_MS);
  waiting.add(task.id);
  await comment(stage, me, task.id, question, "asks in");
}

async function handOver({ stage, me }: Mind, task: Task, result: string): Promise<void> {
  await wait(stage, WORKING_MS);
  await move(stage, me, task, "review", result);
}
