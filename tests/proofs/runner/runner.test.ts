/** The table of docs/runner.md#when-things-break at its full size. */
import { existsSync, readFileSync } from "node:fs";
import { setTimeout as pause } from "node:timers/promises";
import { afterAll, beforeAll, expect, onTestFinished, test, vi } from "vitest";
import { buildCommandLine, openRunnerFixture, type RunnerFixture } from "../../runner/runner-fixture.ts";
import { cleanUpPrograms } from "../../support/program.ts";
import { createWorld, type World } from "../../support/world.ts";
import { killRunners } from "./kills.ts";

/** KILLS in the environment sets another number. */
const kills = Number(process.env["KILLS"] ?? 1_000);
const TASKS = 50;
const MINUTE = 60_000;

let world: World;
let program: string;

beforeAll(async () => {
  program = buildCommandLine();
  world = await createWorld();
});
afterAll(async () => {
  await world.close();
  await cleanUpPrograms();
});

test("after each of a thousand kills at named points, the task is done once, with each comment and step once", async ({
  task,
}) => {
  const { problems, points } = await killRunners(world, program, kills, 3);
  task.meta.summary = { kills, ...Object.fromEntries([...points].toSorted(([a], [b]) => a.localeCompare(b))) };
  expect(problems).toEqual([]);
});

test("two runners with one name in one repository do 50 tasks, none of them twice", async () => {
  const runner = await openRunnerFixture(world, { program });
  onTestFinished(() => runner.close());
  const log = `${runner.home}/log`;
  const ids = await Promise.all(Array.from({ length: TASKS }, (_, n) => runner.board.addTask({ title: `Task ${n}` })));
  const script = [{ write: ["done.txt", "1"] }, { sleep: 20 }, { append: [log, "worked"] }, { say: "Done." }];
  const flags = ["--parallel", "2", "--idle", "5s"];
  const exits = await Promise.all([runner.start(script, flags), runner.start(script, flags)].map(({ exited }) => exited));
  expect(exits.map(({ code }) => code)).toEqual([0, 0]);
  for (const id of ids) {
    expect([id, (await runner.task(id)).status, await runner.comments(id)]).toEqual([id, "review", ["Done."]]);
    expect(await runner.runsOf(id)).toHaveLength(1);
  }
  const branches = runner.git("for-each-ref", "--format=%(refname:short)", "refs/heads/board").split("\n");
  expect(branches).toHaveLength(TASKS);
});

test("an idle runner sends at most one request a minute, needs at most 90 MB, and begins a new task within 5 seconds", async () => {
  const times: number[] = [];
  const intercept = (request: Request, next: (request: Request) => Promise<Response>) => {
    times.push(performance.now());
    return next(request);
  };
  const runner = await openRunnerFixture(world, { program, intercept });
  onTestFinished(() => runner.close());
  const running = runner.start([{ say: "Done." }]);
  await pause(10_000);
  times.length = 0;
  await pause(2 * MINUTE);
  expect(times.length).toBeLessThanOrEqual(2);
  expect(residentMemory(running.pid)).toBeLessThan(90);
  const id = await runner.board.addTask({ title: "New" });
  await vi.waitUntil(() => running.stdout().includes("took"), { timeout: 5_000 });
  expect((await running.exited).code).toBe(0);
  expect((await runner.task(id)).status).toBe("review");
});

test("until an agent has its first prompt, the runner needs less than a second of processor time, including the git commands", async ({
  task,
}) => {
  const runner = await openRunnerFixture(world, { program });
  onTestFinished(() => runner.close());
  await runner.board.addTask();
  const dump = `${runner.home}/dump.json`;
  const began = performance.now();
  const running = runner.start([{ dump }, { hang: true }]);
  await vi.waitUntil(() => existsSync(dump), { timeout: MINUTE, interval: 5 });
  const ms = processorTime(running.pid);
  task.meta.summary = { "processor ms until the first prompt": ms, "ms in all": Math.round(performance.now() - began) };
  expect(ms).toBeLessThan(1_000);
});

test("without a network the agent continues until its lease would end, and once the network is back all of its steps arrive", async () => {
  let isDown = false;
  const intercept = async (request: Request, next: (request: Request) => Promise<Response>) => {
    if (isDown) return new Response(new ReadableStream({ start: (stream) => stream.error(new Error("No network")) }));
    return next(request);
  };
  const runner: RunnerFixture = await openRunnerFixture(world, { program, intercept });
  onTestFinished(() => runner.close());
  const id = await runner.board.addTask({ title: "Count" });
  const running = runner.start(
    [{ write: ["half.txt", "1"] }, { sleep: 3_000 }, { tool: { title: "During the outage" } }, { hang: true }],
    ["--once", "--lease", "60"],
  );
  await vi.waitUntil(() => existsSync(`${runner.worktree(id)}/half.txt`), { timeout: MINUTE });
  const { run } = await runner.task(id);
  isDown = true;
  const began = performance.now();
  await vi.waitUntil(() => /given back|ended/.test(running.stdout()) || performance.now() - began > 65_000, {
    timeout: 70_000,
    interval: 200,
  });
  world.elapse(3_600_000);
  isDown = false;
  expect((await running.exited).code, running.stdout()).toBe(0);
  const steps = await runner.steps(run.id);
  expect(steps.filter(({ title }) => title === "During the outage")).toHaveLength(1);
  expect((await runner.run(run.id)).ended_reason).toContain("could not be reached");
  expect(runner.journals()).toEqual([]);
});

/** Returns the resident memory of a process in MB. */
function residentMemory(pid: number): number {
  const status = readFileSync(`/proc/${pid}/status`, "utf8");
  return Number(/VmRSS:\s+(\d+)/.exec(status)![1]) / 1024;
}

/** Returns the milliseconds of processor time of a process and its ended children. Linux counts in hundredths of a second. */
function processorTime(pid: number): number {
  const status = readFileSync(`/proc/${pid}/stat`, "latin1");
  const words = status.slice(status.lastIndexOf(")") + 2).split(" ");
  return words.slice(11, 15).reduce((sum, ticks) => sum + Number(ticks) * 10, 0);
}
