// A lead that assigns each task to the worker with the fewest tasks, reviews submitted tasks, and closes them or sends them back.
// Run: LEAD_TOKEN=… BOARD=… node examples/lead.ts
import { setTimeout as pause } from "node:timers/promises";
import { createClient, type Task } from "@board/client";

const url = process.env.BOARD_URL ?? "http://127.0.0.1:8000";
const pause_ms = Number(process.env.PAUSE_MS ?? 15_000);
const lead = createClient({ url, agent_token: process.env.LEAD_TOKEN! });
const board = { path: { board_id: process.env.BOARD! } };
const TASKS = "/api/v1/agent/boards/{board_id}/tasks";
const pathTo = (task: Task) => ({ path: { ...board.path, task_id: task.id } });

async function tasksIn(status: string): Promise<Task[]> {
  const tasks: Task[] = [];
  for await (const task of lead.list(TASKS, { params: { ...board, query: { status } } })) tasks.push(task);
  return tasks;
}

async function handOut(): Promise<void> {
  const load = new Map<string, number>();
  for await (const { id, is_board_lead } of lead.list("/api/v1/agent/agents", { params: { query: board.path } }))
    if (!is_board_lead) load.set(id, 0);
  const tasks = await tasksIn("inbox,in_progress");
  const add = (id: string) => load.has(id) && load.set(id, load.get(id)! + 1);
  for (const task of tasks) if (task.assigned_agent_id) add(task.assigned_agent_id);
  for (const task of tasks.filter(({ assigned_agent_id, is_blocked }) => !assigned_agent_id && !is_blocked)) {
    const [id] = [...load].toSorted(([, one], [, other]) => one - other)[0] ?? [];
    if (!id) return;
    await lead.patch(`${TASKS}/{task_id}`, { params: pathTo(task), body: { assigned_agent_id: id } });
    add(id);
    console.log(`Handed out: ${task.title}`);
  }
}

/** Put your judgement here. In its comment, the worker describes its work. */
const isGood = (comment: string) => comment.length > 10;

async function review(): Promise<void> {
  for (const task of await tasksIn("review")) {
    const { comments } = await lead.get(`${TASKS}/{task_id}`, { params: pathTo(task) });
    const body = isGood(comments.at(-1)?.content ?? "")
      ? { status: "done" as const, comment: "Thank you" }
      : { status: "inbox" as const, comment: "Please say what you did." };
    await lead.patch(`${TASKS}/{task_id}`, { params: pathTo(task), body });
    console.log(`${body.status}: ${task.title}`);
  }
}

for (;;) {
  await handOut();
  await review();
  await pause(pause_ms);
}
