import { expect, test } from "vitest";
import { setupWorld } from "../support/fixtures.ts";
import { actAsMainAgent } from "../support/main-agent.ts";
import { addTask } from "../support/task.ts";
import { connectMcp } from "./support.ts";

const world = await setupWorld();
const home = await world.tenant("home");

/** Takes a new task as the main agent, which belongs to no board, and creates the token of the run. */
async function beginRunOfMainAgent() {
  const main = await actAsMainAgent(world, home.gateway_id);
  const { id: task_id } = await addTask(world, home, { title: "Count the lamps" });
  const path = `/api/v1/boards/${home.board_id}/tasks/${task_id}`;
  await world.call("PATCH", path, { token: home.owner.token, body: { assigned_agent_id: main.id } });
  const taken = await world.call("POST", "/api/v1/agent/tasks/next", { agent: main.token, body: { parallel: true } });
  expect(taken.body.task, taken.text).toMatchObject({ id: task_id });
  const made = await world.call("POST", `/api/v1/agent/runs/${taken.body.task.run.id}/token`, { agent: main.token });
  return { task_id, token: made.body.token as string };
}

test("the tools of a run work on the board of the run without its id in the call, also for a main agent", async () => {
  const other = { name: "Another board", description: "B", gateway_id: home.gateway_id };
  expect((await world.call("POST", "/api/v1/boards", { token: home.owner.token, body: other })).status).toBe(200);
  const { task_id, token } = await beginRunOfMainAgent();
  const { use } = await connectMcp(world, token);
  const board = await use("get_board");
  expect(board.data).toMatchObject({ board: { id: home.board_id } });
  expect(board.text).not.toContain("Another board");
  expect((await use("comment_on_task", { task_id, content: "12 so far" })).text).toMatch(/is on the task/);
  expect((await use("get_task", { task_id })).data).toMatchObject({
    task: { id: task_id },
    comments: [{ content: "12 so far" }],
  });
  expect((await use("remember", { content: "12 lamps" })).refused).toBe(false);
});
