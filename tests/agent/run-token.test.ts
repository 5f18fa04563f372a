import { expect, test } from "vitest";
import { groups } from "@board/api/groups";
import { openPullBoard } from "../support/pull-board.ts";
import { setupWorld } from "../support/fixtures.ts";

const world = await setupWorld();
const board = await openPullBoard(world, "owner");

interface Run {
  token: string;
  run_id: string;
  task_id: string;
  fence: number;
}

/** Takes a new task and creates the token of its run. */
async function beginRun(): Promise<Run> {
  const task_id = await board.addTask();
  await board.call("PATCH", `/api/v1/boards/${board.board_id}/tasks/${task_id}`, board.owner.token, {
    assigned_agent_id: board.worker.id,
  });
  const taken = await world.call("POST", "/api/v1/agent/tasks/next", { agent: board.worker.token, body: { parallel: true } });
  expect(taken.body.task.id).toBe(task_id);
  const run_id = taken.body.task.run.id;
  const made = await mint(run_id, board.worker.token);
  expect(made.status).toBe(200);
  return { token: made.body.token, run_id, task_id, fence: taken.body.lease.fence };
}

const mint = (run_id: string, agent: string) => world.call("POST", `/api/v1/agent/runs/${run_id}/token`, { agent });
const tasks = () => `/api/v1/boards/${board.board_id}/tasks`;

test("the token of a run reads, comments on and moves the task of the run", async () => {
  const { token: agent, task_id, fence } = await beginRun();
  const read = await world.call("GET", `/api/v1/agent/boards/${board.board_id}/tasks/${task_id}`, { agent });
  expect(read.body.id).toBe(task_id);
  const comment = await world.call("POST", `${tasks()}/${task_id}/comments`, { agent, body: { content: "Begun" } });
  expect(comment.body.agent_id).toBe(board.worker.id);
  const remembered = await world.call("POST", `/api/v1/boards/${board.board_id}/memory`, {
    agent,
    body: { content: "Two lamps" },
  });
  expect(remembered.status).toBe(200);
  const body = { action_type: "deploy", description: "It is ready", task_ids: [task_id] };
  expect((await world.call("POST", `/api/v1/boards/${board.board_id}/approvals`, { agent, body })).status).toBe(200);
  const headers = { "X-Task-Fence": String(fence) };
  const moved = await world.call("PATCH", `${tasks()}/${task_id}`, { agent, headers, body: { status: "review" } });
  expect(moved.body.status).toBe("review");
});

test("the token of a run ends with the run", async () => {
  const { token: agent, task_id } = await beginRun();
  await world.call("PATCH", `${tasks()}/${task_id}`, { agent, body: { status: "review", comment: "Done" } });
  expect((await world.call("GET", `${tasks()}/${task_id}`, { agent })).status).toBe(401);
});

test("the token of a run is refused for other tasks, other boards and approvals of other tasks", async () => {
  const { token: agent } = await beginRun();
  const other = await board.addTask();
  const elsewhere = await openPullBoard(world, "stranger");
  const foreign = await elsewhere.addTask();
  const refused = [
    world.call("GET", `${tasks()}/${other}`, { agent }),
    world.call("PATCH", `${tasks()}/${other}`, { agent, body: { status: "in_progress" } }),
    world.call("POST", `${tasks()}/${other}/comments`, { agent, body: { content: "Hello" } }),
    world.call("GET", `/api/v1/boards/${elsewhere.board_id}/tasks/${foreign}`, { agent }),
    world.call("POST", `/api/v1/boards/${elsewhere.board_id}/memory`, { agent, body: { content: "Hello" } }),
    ...[[other], [], [foreign]].map((task_ids) =>
      world.call("POST", `/api/v1/boards/${board.board_id}/approvals`, {
        agent,
        body: { action_type: "deploy", description: "Please", task_ids },
      }),
    ),
  ];
  for (const answer of await Promise.all(refused)) expect([answer.status, answer.text]).toEqual([403, expect.any(String)]);
});

test("the token of a run is refused by every operation that does not concern its task", async () => {
  const { token: agent, task_id, run_id } = await beginRun();
  const ids: Record<string, string> = { board_id: board.board_id, task_id, run_id, agent_id: board.worker.id };
  const passed: string[] = [];
  for (const { method, paths, spec } of Object.values(groups).flat()) {
    if (!spec.as.agents || spec.hidden) continue;
    const path = paths[0]!.replaceAll(/\{(\w+)\}/g, (_, name: string) => ids[name] ?? crypto.randomUUID());
    const answer = await world.call(method, path, { agent, ...(method === "GET" || method === "DELETE" ? {} : { body: {} }) });
    if (answer.status !== 403) passed.push(`${method} ${paths[0]} ${answer.status}`);
  }
  expect(passed.toSorted()).toEqual([
    "GET /api/v1/agent/boards/{board_id}/tasks/{task_id} 200",
    "GET /api/v1/agent/boards/{board_id}/tasks/{task_id}/comments 200",
    "GET /api/v1/agent/healthz 200",
    "GET /api/v1/boards/{board_id}/artifacts/{artifact_id} 404",
    "GET /api/v1/boards/{board_id}/artifacts/{artifact_id}/content 404",
    "GET /api/v1/boards/{board_id}/tasks/{task_id} 200",
    "GET /api/v1/boards/{board_id}/tasks/{task_id}/artifacts 200",
    "GET /api/v1/boards/{board_id}/tasks/{task_id}/comments 200",
    "PATCH /api/v1/agent/boards/{board_id}/tasks/{task_id} 200",
    "PATCH /api/v1/boards/{board_id}/tasks/{task_id} 200",
    "POST /api/v1/agent/boards/{board_id}/approvals 422",
    "POST /api/v1/agent/boards/{board_id}/memory 422",
    "POST /api/v1/agent/boards/{board_id}/tasks/{task_id}/comments 422",
    "POST /api/v1/agent/usage 422",
    "POST /api/v1/boards/{board_id}/approvals 422",
    "POST /api/v1/boards/{board_id}/artifacts/{artifact_id}/complete 404",
    "POST /api/v1/boards/{board_id}/memory 422",
    "POST /api/v1/boards/{board_id}/tasks/{task_id}/artifacts 422",
    "POST /api/v1/boards/{board_id}/tasks/{task_id}/comments 422",
    "PUT /api/v1/boards/{board_id}/artifacts/{artifact_id}/content 404",
  ]);
});

test("only the agent of a running run gets its token, and a new token replaces the previous one", async () => {
  const { run_id, token, task_id } = await beginRun();
  expect((await mint(run_id, board.lead.token)).status).toBe(404);
  expect((await mint(run_id, token)).status).toBe(403);
  const second = await mint(run_id, board.worker.token);
  expect((await world.call("GET", `${tasks()}/${task_id}`, { agent: token })).status).toBe(401);
  expect((await world.call("GET", `${tasks()}/${task_id}`, { agent: second.body.token })).status).toBe(200);
  await world.call("PATCH", `${tasks()}/${task_id}`, { agent: second.body.token, body: { status: "review", comment: "Done" } });
  expect((await mint(run_id, board.worker.token)).status).toBe(409);
});

/** Calls the MCP endpoint with a message. */
async function mcp(agent: string, method: string, params: object = {}) {
  const headers = { accept: "application/json, text/event-stream", "mcp-protocol-version": "2025-06-18" };
  const body = { jsonrpc: "2.0", id: 1, method, params };
  return (await world.call("POST", "/mcp", { agent, headers, body })).body.result;
}

test("with the token of a run, the MCP endpoint lists the tools for its task, and refuses other tasks", async () => {
  const { token, task_id } = await beginRun();
  const { tools } = await mcp(token, "tools/list");
  const names = tools.map(({ name }: { name: string }) => name).toSorted();
  const expected = ["comment_on_task", "get_board", "get_task", "release_task", "remember", "request_approval", "update_task"];
  expect(names).toEqual(expected);
  const other = await board.addTask();
  const read = (id: string) => mcp(token, "tools/call", { name: "get_task", arguments: { task_id: id } });
  expect((await read(task_id)).isError).toBeUndefined();
  expect((await read(other)).isError).toBe(true);
  expect(await mcp(token, "tools/call", { name: "list_tasks", arguments: {} })).toBeUndefined();
});
