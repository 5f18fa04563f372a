import { execFileSync } from "node:child_process";
import { mkdirSync, symlinkSync, writeFileSync } from "node:fs";
import path from "node:path";
import { expect, test } from "vitest";
import { type Action, type RunnerFixture, setupRunners } from "./runner-fixture.ts";

const openFixture = await setupRunners();
const FULL_DISK = ["--require", path.resolve(import.meta.dirname, "../support/failing-journals.cjs")];

/** Runs an agent once while the disk is full for the lines of the journal that match a pattern. */
async function runOnFullDisk(runner: RunnerFixture, lines: RegExp, script: Action[]) {
  const running = runner.start(script, ["--once"], { DISK_FULL: lines.source }, FULL_DISK);
  const { code } = await running.exited;
  return { code, said: `${running.stdout()}${running.stderr()}` };
}

test("a refused token ends the runner but not the run: its next start, with a valid token, delivers steps and comment", async () => {
  let isRefused = false;
  const runner = await openFixture({
    intercept(request, next) {
      const { pathname } = new URL(request.url);
      isRefused ||= pathname.endsWith("/steps") && !runner.journals().includes("00.jsonl");
      return isRefused ? Promise.resolve(Response.json({ detail: "Unauthorized" }, { status: 401 })) : next(request);
    },
  });
  const id = await runner.board.addTask({ title: "Count" });
  const first = runner.start([{ tool: { title: "Count" } }, { say: "Counted." }]);
  expect((await first.exited).code, first.stdout()).toBe(2);
  expect([(await runner.task(id)).status, runner.journals().length]).toEqual(["in_progress", 1]);

  // A journal that cannot be read does not keep the others from being delivered, and stays. A journal without a run is removed.
  mkdirSync(path.join(runner.home, "folder"));
  symlinkSync(path.join(runner.home, "folder"), path.join(runner.runs, "00.jsonl"));
  writeFileSync(path.join(runner.runs, "01.jsonl"), '{"line":"ru');
  isRefused = false;
  const second = runner.start([], ["--idle", "1s", "--max-tasks", "1"]);
  expect((await second.exited).code, second.stdout()).toBe(0);
  expect([(await runner.task(id)).status, await runner.comments(id)]).toEqual(["review", ["Counted."]]);
  const [run] = await runner.runsOf(id);
  const kinds = (await runner.steps(run.id)).map(({ kind }) => kind);
  expect(kinds).toEqual(["tool_call", "message", "usage"]);
  expect(runner.journals()).toEqual(["00.jsonl"]);
  expect(`${second.stdout()}${second.stderr()}`.match(/00\.jsonl stays/g)).toHaveLength(1);
});

test("when the disk becomes full during a run, the work is still submitted, with the steps of before", async () => {
  const runner = await openFixture();
  const id = await runner.board.addTask({ title: "Count" });
  const script = [{ tool: { title: "Before" } }, { tool: { title: "During" } }, { say: "Counted." }];
  const { code, said } = await runOnFullDisk(runner, /"n":[1-9]|"line":"(sent|end)"/, script);
  expect([code, said.match(/not kept/g)], said).toEqual([0, ["not kept"]]);
  expect([(await runner.task(id)).status, await runner.comments(id)]).toEqual(["review", ["Counted."]]);
  const [run] = await runner.runsOf(id);
  expect((await runner.steps(run.id)).map(({ title }) => title)).toEqual(["Before"]);
  expect(runner.journals()).toEqual([]);
});

test("a line of which a full disk took only a part does not damage the lines after it", async () => {
  const runner = await openFixture();
  const id = await runner.board.addTask({ title: "Count" });
  const long = "Much longer than the line after it";
  const script = [{ tool: { title: "First" } }, { tool: { title: long } }, { say: "Counted." }];
  const { code, said } = await runOnFullDisk(runner, /Much longer/, script);
  expect(code, said).toBe(0);
  const [run] = await runner.runsOf(id);
  const steps = await runner.steps(run.id);
  expect(steps.map(({ kind, title }) => title ?? kind)).toEqual(["First", "message", "usage"]);
});

test.each([
  ["begin the journal of a run", /"line":"run"/],
  ["record the process of the agent", /"line":"process"/],
])(
  "when the disk is too full to %s, the task is given back and no agent is left",
  async (_what, lines) => {
    const runner = await openFixture();
    const id = await runner.board.addTask({ title: "Count" });
    const { said } = await runOnFullDisk(runner, lines, [{ ignore_signals: true }, { hang: true }]);
    expect(said).toContain("ENOSPC");
    const { status, assigned_agent_id } = await runner.task(id);
    expect([status, assigned_agent_id]).toEqual(["inbox", null]);
    expect(execFileSync("ps", ["-A", "-o", "args"], { encoding: "utf8" })).not.toContain(`${runner.home}/script-`);
  },
  60_000,
);
