import { readFileSync } from "node:fs";
import { afterAll, beforeAll, expect, onTestFinished, test } from "vitest";
import { cleanUpPrograms } from "../support/program.ts";
import { createWorld, type World } from "../support/world.ts";
import { buildCommandLine, type FixtureOptions, openRunnerFixture, type RunnerFixture, readJson } from "./runner-fixture.ts";

let world: World;
let program: string;

beforeAll(async () => {
  program = buildCommandLine();
  world = await createWorld();
});

async function openFixture(options: Partial<FixtureOptions> = {}): Promise<RunnerFixture> {
  const fixture = await openRunnerFixture(world, { program, ...options });
  onTestFinished(() => fixture.close());
  return fixture;
}

afterAll(async () => {
  await world.close();
  await cleanUpPrograms();
});

test("a task goes from the inbox to review, with the work on a branch of its worktree and the last message as comment", async () => {
  const runner = await openFixture();
  const id = await runner.board.addTask({ title: "Count the lamps" });
  const { exited, stdout } = runner.start([
    { think: "Hm" },
    { write: ["lamps.txt", "15\n"] },
    { say: "I counted 15 " },
    { say: "lamps." },
  ]);
  expect(await exited, stdout()).toEqual({ code: 0, signal: null });
  const branch = `board/${id.slice(0, 8)}-count-the-lamps`;
  expect(await runner.comments(id)).toEqual(["I counted 15 lamps."]);
  const { status, run } = await runner.task(id);
  expect([status, run.status]).toEqual(["review", "submitted"]);
  expect(readFileSync(`${runner.worktree(id)}/lamps.txt`, "utf8")).toBe("15\n");
  expect(runner.git("log", "--format=%s", `main..${branch}`)).toBe(`Count the lamps (task ${id.slice(0, 8)})`);
  expect([runner.git("status", "--porcelain"), runner.git("rev-parse", "--abbrev-ref", "HEAD")]).toEqual(["", "main"]);
  expect(runner.journals()).toEqual([]);
  const found = await runner.run(run.id);
  expect(found.client).toMatchObject({ name: "scripted", version: "1.2.3" });
  expect(found.links.map(({ kind, title }: { kind: string; title: string }) => [kind, title])).toEqual([
    ["branch", branch],
    ["commit", `Count the lamps (task ${id.slice(0, 8)})`],
  ]);
}, 60_000);

test("the agent gets the board's tools under the token of its run, and no other token in its environment, arguments or prompt", async () => {
  const runner = await openFixture();
  const id = await runner.board.addTask({ title: "Count the lamps" });
  const dump = `${runner.home}/dump.json`;
  const { exited, stdout } = runner.start([
    { dump },
    { board: ["comment_on_task", { task_id: id, content: "I have begun." }] },
    { say: "Done." },
  ]);
  expect((await exited).code, stdout()).toBe(0);
  expect(await runner.comments(id)).toEqual(expect.arrayContaining(["I have begun.", "Done."]));
  const seen = readFileSync(dump, "utf8");
  const tokens = [runner.board.worker.token, runner.board.lead.token, runner.board.owner.token];
  for (const token of tokens) expect(seen).not.toContain(token);
  const { env, session } = readJson(dump);
  expect(Object.keys(env).filter((name) => name.startsWith("BOARD"))).toEqual([]);
  expect(session.mcpServers[0].headers).toEqual([{ name: "X-Agent-Token", value: expect.stringMatching(/^run_[\w-]{43}$/) }]);
  // Also nothing in the folder in which it works, or in its settings.
  for (const token of tokens) expect(runner.grep(token)).toEqual([]);
}, 60_000);
