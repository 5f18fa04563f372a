import { writeFileSync } from "node:fs";
import path from "node:path";
import { afterAll, expect, test } from "vitest";
import { openCommandLine } from "../support/command-line.ts";
import { setup, setupWorld } from "../support/fixtures.ts";
import { cleanUpPrograms, temporaryFolder } from "../support/program.ts";
import { openPullBoard } from "../support/pull-board.ts";
import { serve } from "../support/serve.ts";

const world = await setupWorld();
const home = await openPullBoard(world, "home");
const server = await setup(serve((request) => world.app.fetch(request)));
const commandLine = await openCommandLine();
afterAll(cleanUpPrograms);

const worker = commandLine.caller({ BOARD_URL: server.url, BOARD_TOKEN: home.worker.token });
const scriptedAgent = path.resolve(import.meta.dirname, "../support/scripted-agent.mjs");

test("the installed command line has the runner, even on the oldest Node: an agent works on a task in a plain folder", async () => {
  const id = await home.addTask({ title: "Count" });
  const folder = temporaryFolder();
  const script = path.join(folder, "script.json");
  writeFileSync(script, JSON.stringify([{ tool: { title: "Count them" } }, { say: "Fifteen." }]));
  const args = ["run", "--once", "--", process.execPath, scriptedAgent, script];
  const { code, stdout, stderr } = await worker.run(args, { cwd: folder });
  expect({ code, stderr }).toEqual({ code: 0, stderr: "" });
  expect(stdout).toMatch(/took: Count$/m);
  const task = await home.call("GET", `/api/v1/boards/${home.board_id}/tasks/${id}`, home.owner.token);
  expect(task.body).toMatchObject({ status: "review", run: { status: "submitted" } });
});

test("run --list names the known agents with the exact version that npx would start", async () => {
  const listed = (await worker.run(["run", "--list", "--json"])).json() as Record<string, string>[];
  expect(listed.map(({ name }) => name)).toEqual(expect.arrayContaining(["claude", "codex", "gemini", "opencode", "copilot"]));
  for (const { version } of listed) expect(version).toMatch(/^\d+\.\d+\.\d+$/);
});
