import { afterAll, beforeAll, expect, test } from "vitest";
import { type CommandLine, openCommandLine } from "../support/command-line.ts";
import { cleanUpPrograms } from "../support/program.ts";
import { openPullBoard, type PullBoard } from "../support/pull-board.ts";
import { serve } from "../support/serve.ts";
import { createWorld, type World } from "../support/world.ts";

let world: World;
let home: PullBoard;
let server: Awaited<ReturnType<typeof serve>>;
let commandLine: CommandLine;

beforeAll(async () => {
  world = await createWorld();
  home = await openPullBoard(world, "home");
  server = await serve((request) => world.app.fetch(request));
  commandLine = await openCommandLine();
});
afterAll(async () => {
  await cleanUpPrograms();
  await server.close();
  await world.close();
});

const as = (token: string) => commandLine.caller({ BOARD_URL: server.url, BOARD_TOKEN: token });

test("an agent reports its usage with the commands usage, next and done, and people see the usage and the budgets", async () => {
  const you = as(home.owner.token);
  const agent = as(home.worker.token);
  const body = { scope: "board", scope_id: home.board_id, limit: { total_tokens: 1_000 }, period: "total" };
  await home.call("POST", "/api/v1/budgets", home.owner.token, body);
  const task_id = await home.addTask({ title: "Lamps" });
  expect((await agent.run(["usage"])).stderr).toContain("Say what you used");
  const idle = ["usage", "--input-tokens", "40", "--usage-key", "turn-1"];
  expect((await agent.run(idle)).stdout).toBe("Counted.\n");
  expect((await agent.run(idle)).stdout).toBe("It was counted before.\n");
  expect((await agent.run(["next", "--input-tokens", "10"])).stdout).toContain("Lamps");
  const done = await agent.run(["done", "--comment", "14", "--input-tokens", "900", "--output-tokens", "90", "--cost", "0.25"]);
  expect([done.code, done.stdout, done.stderr]).toEqual([0, `review: ${task_id}\n`, ""]);
  const shown = await you.run(["usage", "--by", "task"]);
  expect(shown.stdout).toMatch(/Lamps +990 +0\.25/);
  expect(shown.stdout).toContain("Total: 990 tokens for tasks, 50 idle, 0.25 USD reported.");
  expect((await you.run(["budget"])).stdout).toMatch(/board home board +total +1040 of 1000 tokens +exhausted +never/);
  await home.addTask({ title: "More" });
  expect((await agent.run(["next"])).stdout).toContain("The budget is spent");
  expect((await you.run(["usage", "--cost", "1"])).stderr).toContain("Only agents report usage");
});
