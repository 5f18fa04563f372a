import { spawn } from "node:child_process";
import { afterAll, expect, test } from "vitest";
import { openCommandLine } from "../support/command-line.ts";
import { setupWorld } from "../support/fixtures.ts";
import { cleanUpPrograms } from "../support/program.ts";
import { openPullBoard } from "../support/pull-board.ts";
import { serve } from "../support/serve.ts";

const world = await setupWorld({ streams: { poll_ms: 20 } });
const home = await openPullBoard(world, "home");
const server = await serve((request) => world.app.fetch(request));
const commandLine = await openCommandLine();
afterAll(cleanUpPrograms);

const environment = { BOARD_URL: server.url, BOARD_TOKEN: home.owner.token };
const board = commandLine.caller(environment);

/** Starts a task for the worker and returns the run. */
async function startRun(): Promise<{ id: string; task_id: string }> {
  const task_id = await home.addTask();
  const { body } = await home.call("POST", "/api/v1/agent/tasks/next", home.worker.token, { parallel: true });
  return { id: body.task.run.id, task_id };
}
const addSteps = (run_id: string, from: number, texts: string[]) =>
  home.call("POST", `/api/v1/agent/runs/${run_id}/steps`, home.worker.token, {
    from,
    steps: texts.map((text) => ({ kind: "message", text })),
  });

test("runs lists the runs of the board, of a task and of a state", async () => {
  const run = await startRun();
  expect((await board.run(["runs", "--json"])).json()).toContainEqual(expect.objectContaining({ id: run.id, status: "running" }));
  expect((await board.run(["runs", "--task", run.task_id, "--json"])).json()).toMatchObject([{ id: run.id }]);
  expect((await board.run(["runs", "--status", "stopped"])).stdout).toBe("No runs.\n");
  expect((await board.run(["runs", "--task", run.task_id, "--status", "stopped"])).stdout).toBe("No runs.\n");
  expect((await board.run(["runs", "--task", run.task_id, "--status", "running", "--json"])).json()).toHaveLength(1);
  expect((await board.run(["runs"])).stdout).toMatch(new RegExp(`${run.id} +running +Worker`));
});

test("runs <id> prints the latest steps in their order, without control characters", async () => {
  const { id } = await startRun();
  await addSteps(id, 0, ["First", "\u001b[31mred\u001b[0m", "\u202eThird"]);
  const { stdout } = await board.run(["runs", id, "--limit", "2"]);
  expect(stdout.split("\n").map((line) => line.slice(10))).toEqual(["message     [31mred[0m", "message     Third", ""]);
  expect((await board.run(["runs", "not-an-id"])).stderr).toContain("is not the id of a run");
});

test("runs --follow prints the steps from the beginning, and new ones as they happen", async () => {
  const { id } = await startRun();
  await addSteps(id, 0, ["First"]);
  const env = { PATH: process.env["PATH"], ...environment, XDG_CONFIG_HOME: board.settings };
  const child = spawn(commandLine.node, [commandLine.program, "runs", id, "--follow", "--json"], { env });
  const seen: string[] = [];
  try {
    for await (const part of child.stdout.setEncoding("utf8")) {
      for (const line of (part as string).split("\n").filter(Boolean)) seen.push(JSON.parse(line).data.text);
      if (seen.length === 1) await addSteps(id, 1, ["Second"]);
      if (seen.length === 2) break;
    }
  } finally {
    child.kill("SIGKILL");
  }
  expect(seen).toEqual(["First", "Second"]);
});
