import { createClient } from "@board/client/client";
import * as z from "zod";
import { type DemoContext, wait } from "./demo-context.ts";
import { connectToTools, type UseTool } from "./mcp-client.ts";
import { nova, rex, you } from "./participants.ts";

/** The shortest possible lease, so that the demo soon shows what happens when it ends. */
const LEASE_SECONDS = 60;
const WORKING_MS = 1_500;
const TASKS = ["Sand the table", "Oil the chairs", "Fix the drawer"];

const NextTask = z.object({
  task: z.object({ id: z.string(), title: z.string() }).nullable(),
  lease: z.object({ fence: z.number() }).nullable(),
  retry_after_seconds: z.number(),
});

/**
 * Runs a second board, whose agents have no host and ask for work over MCP. One agent stops with a task in progress. This ends
 * when the other agent has finished that task too.
 */
export async function runWorkshop(demo: DemoContext, token: string): Promise<void> {
  const { url, log, signal } = demo;
  const api = createClient({ url, token, signal });
  const board = await api.post("/api/v1/boards", {
    body: { name: "Workshop", description: "Repair furniture.", gateway: "pull", max_agents: 2 },
  });
  const createAgent = async (name: string) => {
    const { auth_token } = await api.post("/api/v1/agents", { body: { name, board_id: board.id } });
    return connectToTools(url, auth_token!, signal);
  };
  const [useAsRex, useAsNova] = [await createAgent(rex.name), await createAgent(nova.name)];
  for (const title of TASKS)
    await api.post("/api/v1/boards/{board_id}/tasks", { params: { path: { board_id: board.id } }, body: { title } });
  log.write(you, `create the board ${board.name} without a host, for ${rex.name} and ${nova.name}, who use MCP`);
  const lost = await takeTask(useAsRex);
  if (!lost.task) return;
  log.write(rex, `takes ${lost.task.title} for ${LEASE_SECONDS} s, and crashes`, true);
  await workUntilDone(demo, useAsNova, lost.task.id);
}

const takeTask = async (use: UseTool) => NextTask.parse(await use("next_task", { lease_seconds: LEASE_SECONDS }));

/** Works on tasks until the lost one is done, which can be taken again when its lease has ended. */
async function workUntilDone(demo: DemoContext, use: UseTool, lost_id: string): Promise<void> {
  const { log } = demo;
  for (;;) {
    const { task, lease, retry_after_seconds } = await takeTask(use);
    if (!task || !lease) {
      log.write(nova, `finds no free task, and asks again in ${retry_after_seconds} s`);
      await wait(demo, retry_after_seconds * 1_000);
      continue;
    }
    log.write(
      nova,
      `takes ${task.title}${task.id === lost_id ? `, which ${rex.name} lost with its lease` : ""}`,
      task.id === lost_id,
    );
    await wait(demo, WORKING_MS);
    await use("update_task", { task_id: task.id, fence: lease.fence, status: "review", comment: "Done, with photos." });
    log.write(nova, `submits ${task.title}`);
    if (task.id === lost_id) return;
  }
}
