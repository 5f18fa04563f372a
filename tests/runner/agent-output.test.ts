import { readFileSync, writeFileSync } from "node:fs";
import path from "node:path";
import { expect, onTestFinished, test } from "vitest";
import { type RunnerFixture, setupRunners } from "./runner-fixture.ts";

const openFixture = await setupRunners();

function endLeftBehind(file: string): void {
  try {
    process.kill(Number(readFileSync(file, "utf8")));
  } catch {
    // The runner has ended the process, or there was none.
  }
}

/** Writes a program, and returns the words that start it. */
function program(runner: RunnerFixture, code: string): string[] {
  const file = path.join(runner.home, "program.cjs");
  writeFileSync(file, code);
  onTestFinished(() => endLeftBehind(path.join(runner.home, "left-behind")));
  return [process.execPath, file];
}

/** Starts a process that keeps the output open, and notes its id. */
const leaveBehind = (options: string) =>
  `const child = require("node:child_process").spawn("sleep", ["300"], { stdio: "inherit", ${options} });
  child.unref();
  require("node:fs").writeFileSync(__dirname + "/left-behind", String(child.pid));`;

test.each([
  ["in its group", leaveBehind("")],
  // The runner does not find this process.
  ["outside its group", leaveBehind("detached: true")],
])(
  "a command that leaves a process %s with its output open has ended, and its task is submitted",
  async (_where, child) => {
    const runner = await openFixture();
    const id = await runner.board.addTask({ title: "Count" });
    const words = program(runner, `${child} console.log("Counted.");`);
    const running = runner.command(["run", "--once", "--exec", words.join(" ")]);
    expect((await running.exited).code, running.stderr()).toBe(0);
    expect([(await runner.task(id)).status, await runner.comments(id)]).toEqual(["review", ["Counted."]]);
  },
  60_000,
);

test("an agent that exits and leaves a process with its output open leaves the task blocked with its exit code", async () => {
  const runner = await openFixture();
  const id = await runner.board.addTask({ title: "Count" });
  const running = runner.command(["run", "--once", "--", ...program(runner, `${leaveBehind("")} process.exitCode = 3;`)]);
  expect((await running.exited).code, running.stderr()).toBe(0);
  expect([(await runner.task(id)).status, (await runner.comments(id))[0]]).toEqual([
    "blocked",
    expect.stringContaining("The agent ended before it had finished (exit code 3)."),
  ]);
});

test("a command that shows its progress without a line break is not silent", async () => {
  const runner = await openFixture();
  const id = await runner.board.addTask({ title: "Count" });
  const words = program(
    runner,
    `let n = 0; const timer = setInterval(() => { process.stdout.write("."); if (++n === 20) clearInterval(timer); }, 300);`,
  );
  const running = runner.command(["run", "--once", "--stall", "3s", "--exec", words.join(" ")]);
  expect((await running.exited).code, running.stderr()).toBe(0);
  expect([(await runner.task(id)).status, await runner.comments(id)]).toEqual(["review", [".".repeat(20)]]);
});
