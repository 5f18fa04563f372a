/** Tests that agents can add files with the tool that hands in their work, and with the token of a run. */
import { expect, test } from "vitest";
import { connectMcp } from "../mcp/support.ts";
import { setupWorld } from "../support/fixtures.ts";
import { openPullBoard } from "../support/pull-board.ts";
import { base64 } from "./artifact-fixture.ts";

const world = await setupWorld();
const board = await openPullBoard(world, "owner");
const tasks = `/api/v1/boards/${board.board_id}/tasks`;

async function beginRun() {
  const task_id = await board.addTask();
  await board.call("PATCH", `${tasks}/${task_id}`, board.owner.token, { assigned_agent_id: board.worker.id });
  const taken = await world.call("POST", "/api/v1/agent/tasks/next", { agent: board.worker.token, body: { parallel: true } });
  const run_id = taken.body.task.run.id;
  const minted = await world.call("POST", `/api/v1/agent/runs/${run_id}/token`, { agent: board.worker.token });
  return { task_id, run_id, token: minted.body.token as string };
}

test("update_task can add a file to the task that the agent hands in, and get_task then names the file", async () => {
  const { task_id, run_id, token } = await beginRun();
  const { use } = await connectMcp(world, token);
  const artifact = { name: "report.md", text: "# Done\n" };
  const handed = await use("update_task", { task_id, status: "review", comment: "Done", artifact });
  expect(handed).toMatchObject({ refused: false, data: { task: { status: "review" } } });
  const asLead = await connectMcp(world, board.owner.token);
  const read = await asLead.use("get_task", { task_id, board_id: board.board_id });
  expect(read.data.artifacts).toMatchObject([{ name: "report.md", content_type: "text/markdown", size: 7 }]);
  expect(read.text).toContain(read.data.artifacts[0].id);
  const { items } = (await board.call("GET", `${tasks}/${task_id}/artifacts`, board.owner.token)).body;
  expect(items).toMatchObject([{ run_id, agent_id: board.worker.id }]);
});

test.each(["constructor", "notes.__proto__"])("a file that an agent names %s is plain text", async (name) => {
  const { task_id } = await beginRun();
  const { use } = await connectMcp(world, board.worker.token);
  expect(await use("update_task", { task_id, artifact: { name, text: "Done" } })).toMatchObject({ refused: false });
  const { items } = (await board.call("GET", `${tasks}/${task_id}/artifacts`, board.owner.token)).body;
  expect(items).toMatchObject([{ name, content_type: "text/plain", size: 4 }]);
});

test("a refused update leaves no file behind, and a text above 64 KB is refused", async () => {
  const { task_id } = await beginRun();
  const { use } = await connectMcp(world, board.worker.token);
  const artifact = { name: "report.md", text: "Done" };
  expect((await use("update_task", { task_id, fence: 99, status: "review", artifact })).refused).toBe(true);
  const long = { name: "long.txt", text: "ä".repeat(32_769) };
  expect((await use("update_task", { task_id, artifact: long })).refused).toBe(true);
  expect((await board.call("GET", `${tasks}/${task_id}/artifacts`, board.owner.token)).body.total).toBe(0);
});

test("the token of a run can add and read files of its task only, and cannot remove files", async () => {
  const { task_id, token: agent } = await beginRun();
  const other = await board.addTask();
  const file = { name: "a.txt", content: base64("a") };
  const added = await world.call("POST", `${tasks}/${task_id}/artifacts`, { agent, body: file });
  expect(added.status).toBe(200);
  const item = (id: string) => `/api/v1/boards/${board.board_id}/artifacts/${id}`;
  expect((await world.call("GET", item(added.body.id), { agent })).status).toBe(200);
  expect((await world.call("DELETE", item(added.body.id), { agent })).status).toBe(403);
  expect((await world.call("POST", `${tasks}/${other}/artifacts`, { agent, body: file })).status).toBe(403);
  const theirs = (await board.call("POST", `${tasks}/${other}/artifacts`, board.owner.token, file)).body;
  expect((await world.call("GET", item(theirs.id), { agent })).status).toBe(403);
});
