import { afterAll, beforeAll, expect, test } from "vitest";
import { requestApproval } from "../support/approval.ts";
import { type CommandLine, openCommandLine } from "../support/command-line.ts";
import { cleanUpPrograms } from "../support/program.ts";
import { serve } from "../support/serve.ts";
import { createWorld, type Person, type Tenant, type World } from "../support/world.ts";

let world: World;
let home: Tenant;
let server: Awaited<ReturnType<typeof serve>>;
let commandLine: CommandLine;

beforeAll(async () => {
  world = await createWorld();
  home = await world.tenant("home");
  server = await serve((request) => world.app.fetch(request));
  commandLine = await openCommandLine();
});
afterAll(async () => {
  await cleanUpPrograms();
  await server.close();
  await world.close();
});

const as = (token: string, more: Record<string, string> = {}) =>
  commandLine.caller({ BOARD_URL: server.url, BOARD_TOKEN: token, ...more });
const addFollower = (name: string): Promise<Person> => world.member(name, home, "member", { write: true });

test("a person sees in the shell what waits for a decision, and decides with the printed command", async () => {
  const you = as(home.owner.token);
  const { id } = await requestApproval(world, home, { action_type: "Deploy", description: "All tests\u001b[31m pass." });
  await world.drain();
  const shown = await you.run(["inbox"]);
  expect([shown.code, shown.stderr]).toEqual([0, ""]);
  expect(shown.stdout).toMatch(/asks for approval: Deploy \(pending\)\n {2}All tests\S* pass\.\n/);
  expect(shown.stdout).not.toContain("\u001b");
  const [, line] = /board (--board \S+ approve \S+)/.exec(shown.stdout)!;
  expect((await you.run(line!.split(" "))).stdout).toBe(`approved: ${id}\n`);
  expect((await you.run(["inbox", "--ack"])).stdout).toContain("(approved)");
  expect((await you.run(["inbox"])).stdout).toBe('Nothing is unread. "board inbox --all" shows the rest.\n');
  expect(JSON.parse((await you.run(["inbox", "--all", "--json"])).stdout)).toMatchObject({
    unread: 0,
    items: [{ status: "approved" }],
  });
});

test("a person can follow a board or a task from the shell, and stop following it", async () => {
  const you = as((await addFollower("fred")).token);
  expect((await you.run(["follow"])).stdout).toBe("You follow the board.\n");
  expect((await you.run(["unfollow"])).stdout).toBe("You do not follow the board any more.\n");
  const task = await world.call("POST", `/api/v1/boards/${home.board_id}/tasks`, {
    token: home.owner.token,
    body: { title: "Count the lamps" },
  });
  expect((await you.run(["follow", task.body.id])).stdout).toBe("You follow the task.\n");
  expect(JSON.parse((await you.run(["unfollow", task.body.id, "--json"])).stdout)).toEqual({ following: false });
});

test("an agent cannot follow, and a person cannot wait for work", async () => {
  const agent = await as(home.worker.token).run(["follow"]);
  expect([agent.code, agent.stderr]).toEqual([1, "Only people follow boards and tasks. Sign in as a person.\n"]);
  const person = await as(home.owner.token).run(["inbox", "--wait", "1"]);
  expect([person.code, person.stderr]).toEqual([1, expect.stringContaining("Only agents wait for work.")]);
});
