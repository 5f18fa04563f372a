/** Tests that the examples of agents do what their first line says, as processes against a running service. */
import { execFile } from "node:child_process";
import path from "node:path";
import { promisify } from "node:util";
import { afterAll, expect, test } from "vitest";
import { cleanUpPrograms, temporaryFolder } from "../support/program.ts";
import type { PullBoard } from "../support/pull-board.ts";
import { setupExamples } from "./example-fixture.ts";

const examples = setupExamples();
afterAll(cleanUpPrograms);

const statusOf = async (board: PullBoard, task_id: string) =>
  (await board.call("GET", `/api/v1/boards/${board.board_id}/tasks/${task_id}`, board.owner.token)).body.status;
const say = (board: PullBoard, content: string) =>
  board.call("POST", `/api/v1/boards/${board.board_id}/memory`, board.owner.token, { content, tags: ["chat"] });

test("set-up prints an environment with which the agent loop works until every task is submitted", async () => {
  const home = await examples.openBoard("set-up");
  const output = await examples.run("set-up", home);
  const printed = Object.fromEntries([...output.matchAll(/^export (\w+)=(\S+)$/gm)].map(([, name, value]) => [name, value]));
  expect(Object.keys(printed)).toEqual(["BOARD_URL", "BOARD", "LEAD_TOKEN", "AGENT_TOKEN"]);
  const made = { ...home, board_id: printed["BOARD"]! };
  const tasks = [];
  for (const title of ["Count the lamps", "Sweep the hall"])
    tasks.push((await home.call("POST", `/api/v1/boards/${made.board_id}/tasks`, home.owner.token, { title })).body.id);
  const loop = examples.start("agent-loop", made, printed);
  await loop.waitForOutput(/Submitted: Count the lamps\nSubmitted: Sweep the hall\n/);
  await loop.stop();
  for (const id of tasks) expect(await statusOf(made, id)).toBe("review");
});

test("keep-lease renews its lease while it works, then submits", async () => {
  const board = await examples.openBoard("keep-lease");
  const task_id = await board.addTask({ title: "Paint the hall" });
  const output = await examples.run("keep-lease", board, { WORK_MS: "2000", RENEW_MS: "100" });
  expect(output).toMatch(/^(Lease until \S+\n)+Submitted: Paint the hall\n$/);
  expect(await statusOf(board, task_id)).toBe("review");
});

test("keep-lease stops its work when somebody takes the task away", async () => {
  const board = await examples.openBoard("lost-lease");
  const task_id = await board.addTask();
  const example = examples.start("keep-lease", board, { WORK_MS: "20000", RENEW_MS: "100" });
  await example.waitForOutput(/Lease until/);
  await board.call("PATCH", `/api/v1/boards/${board.board_id}/tasks/${task_id}`, board.owner.token, { status: "inbox" });
  expect(await example.exited).toBe(1);
  expect(example.stderr).toContain("The lease was lost");
  expect(await statusOf(board, task_id)).toBe("inbox");
});

test("inbox shows a message while it waits for one, and acknowledges it", async () => {
  const board = await examples.openBoard("inbox");
  const example = examples.start("inbox", board);
  await say(board, "@Worker The hall is closed today");
  await example.waitForOutput(/^board\.mention: BOARD CHAT MENTION$/m);
  await expect.poll(async () => (await board.inbox(board.worker)).body.messages, { timeout: 10_000 }).toEqual([]);
});

test("memory finds the newest value of a key, and a note by the beginnings of its words", async () => {
  const board = await examples.openBoard("memory");
  expect(await examples.run("memory", board)).toBe(
    'lamps: {"hall":12,"cellar":2}\nfound: The cellar is locked on Sundays; the key hangs in the office.\n',
  );
});

test("ask-for-approval acts once the approval bot of a person has approved", async () => {
  const board = await examples.openBoard("approvals");
  const asking = examples.start("ask-for-approval", board);
  await asking.waitForOutput(/^Asked: /m);
  const bot = examples.start("approval-bot", board);
  expect(await asking.exited).toBe(0);
  expect(asking.stdout).toContain("Refunding 40 EUR\n");
  expect(bot.stdout).toMatch(/^approved: refund /);
});

test("the approval bot leaves approvals that its rule does not cover to people", async () => {
  const board = await examples.openBoard("approval-bot");
  const bot = examples.start("approval-bot", board);
  const ask = async (body: object) =>
    (await board.call("POST", `/api/v1/agent/boards/${board.board_id}/approvals`, board.worker.token, body)).body.id;
  const ids = [
    await ask({ action_type: "refund", description: "Broken", payload: { amount: 51 } }),
    await ask({ action_type: "deploy", description: "It is ready" }),
  ];
  for (const id of ids) await bot.waitForOutput(new RegExp(`left to people: \\w+ ${id}`));
  for (const id of ids)
    expect((await board.call("GET", `/api/v1/boards/${board.board_id}/approvals/${id}`, board.owner.token)).body.status).toBe(
      "pending",
    );
});

test("the lead hands tasks out evenly, closes good work and sends the rest back", async () => {
  const board = await examples.openBoard("lead");
  const other = await board.addAgent("Ada");
  const tasks = [await board.addTask({ title: "One" }), await board.addTask({ title: "Two" })];
  const lead = examples.start("lead", board, { PAUSE_MS: "100" });
  await lead.waitForOutput(/Handed out: .+\nHanded out: .+\n/);
  for (const [agent, comment] of [
    [board.worker, "Fourteen lamps, two of them broken"],
    [other, "ok"],
  ] as const) {
    const { task } = (await board.call("POST", "/api/v1/agent/tasks/next", agent.token, {})).body;
    expect(tasks).toContain(task.id);
    const path = `/api/v1/agent/boards/${board.board_id}/tasks/${task.id}`;
    await board.call("PATCH", path, agent.token, { status: "review", comment });
  }
  await lead.waitForOutput(/^done: /m);
  await lead.waitForOutput(/^inbox: /m);
  await lead.stop();
  const statuses = await Promise.all(tasks.map((id) => statusOf(board, id)));
  expect(new Set(statuses)).toEqual(new Set(["done", "inbox"]));
});

test("mcp-agent lists the tools of a worker and submits a task with them", async () => {
  const board = await examples.openBoard("mcp-agent");
  const task_id = await board.addTask({ title: "Count the lamps" });
  const output = await examples.run("mcp-agent", board);
  expect(output).toContain("next_task");
  expect(output).toContain("Submitted: Count the lamps\n");
  expect(await statusOf(board, task_id)).toBe("review");
});

test("command-line-agent hands a task in with nothing but the command line", async () => {
  const board = await examples.openBoard("command-line");
  await board.addTask({ title: "Count the lamps" });
  const folder = path.join(temporaryFolder(), "dist");
  const build = path.resolve(import.meta.dirname, "../../packages/cli/build.mjs");
  await promisify(execFile)(process.execPath, [build, folder]);
  const environment = { BOARD_PROGRAM: path.join(folder, "board.js"), XDG_CONFIG_HOME: temporaryFolder() };
  expect(await examples.run("command-line-agent", board, environment)).toBe("Count the lamps: review\n");
});
