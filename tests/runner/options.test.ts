import { existsSync, readFileSync, statSync, writeFileSync } from "node:fs";
import path from "node:path";
import { expect, test, vi } from "vitest";
import { readJson, type RunnerFixture, setupRunners } from "./runner-fixture.ts";

const openFixture = await setupRunners();

/** Writes a program that gets the task on standard input. */
function writeProgram(runner: RunnerFixture, code: string): string {
  const file = path.join(runner.home, "tool.mjs");
  writeFileSync(file, code);
  return `"${process.execPath}" "${file}"`;
}

const wait = ({ exited }: { exited: Promise<{ code: number | null }> }) => exited.then(({ code }) => code);

test("--exec gives the task to any command, whose lines are the steps and whose last lines are the comment", async () => {
  const runner = await openFixture();
  const id = await runner.board.addTask({ title: "Count the lamps" });
  const tool = writeProgram(
    runner,
    `import { readFileSync, writeFileSync } from "node:fs";
    const prompt = readFileSync(0, "utf8");
    writeFileSync("lamps.txt", "15\\n");
    console.log(prompt.includes("Count the lamps") ? "I counted." : "No task.");
    console.log(process.argv.slice(2).join("|"));`,
  );
  const running = runner.command(["run", "--once", "--exec", `${tool} "all of them" now`]);
  expect(await wait(running), running.stderr()).toBe(0);
  const { status, run } = await runner.task(id);
  expect([status, await runner.comments(id)]).toEqual(["review", ["I counted.\nall of them|now"]]);
  expect((await runner.steps(run.id)).map(({ kind, stream, text }) => [kind, stream, text])).toEqual([
    ["log", "stdout", "I counted."],
    ["log", "stdout", "all of them|now"],
  ]);
  expect(readFileSync(`${runner.worktree(id)}/lamps.txt`, "utf8")).toBe("15\n");
});

test("a command of --exec that ends with an exit code other than 0 leaves the task blocked with the code", async () => {
  const runner = await openFixture();
  const id = await runner.board.addTask();
  await wait(runner.command(["run", "--once", "--exec", writeProgram(runner, "process.exit(4)")]));
  expect([(await runner.task(id)).status, await runner.comments(id)]).toEqual([
    "blocked",
    [expect.stringMatching(/^The command ended with exit code 4\./)],
  ]);
});

test("the rules in the file that --policy names replace the rules of the repository", async () => {
  const runner = await openFixture();
  await runner.board.addTask();
  const note = `${runner.home}/answers`;
  writeFileSync(`${runner.home}/strict.json`, JSON.stringify({ rules: [{ tool_kind: ["edit", "execute"], decision: "deny" }] }));
  const permission = { kind: "edit", title: "Edit", locations: [{ path: "lamps.txt" }], note };
  const running = runner.start([{ permission }, { say: "Done." }], ["--once", "--policy", `${runner.home}/strict.json`]);
  expect(await wait(running), running.stderr()).toBe(0);
  expect(readFileSync(note, "utf8")).toBe("no\n");
  const missing = runner.start([], ["--once", "--policy", `${runner.home}/missing.json`]);
  expect(await wait(missing)).toBe(1);
  expect(missing.stderr()).toContain("The policy cannot be read");
});

test("--max-cost stops the runner once its agents have reported the amount, and further tasks stay in the inbox", async () => {
  const runner = await openFixture();
  const ids = [await runner.board.addTask(), await runner.board.addTask(), await runner.board.addTask()];
  const running = runner.start([{ cost: 0.6 }, { say: "Done." }], ["--max-cost", "1"]);
  expect(await wait(running), running.stderr()).toBe(0);
  const tasks = await Promise.all(ids.map((id) => runner.task(id)));
  expect(["inbox", "review"].map((status) => tasks.filter((task) => task.status === status).length)).toEqual([1, 2]);
});

test("--idle stops the runner when there was no task for the given time, and --max-tasks after the given number of tasks", async () => {
  const runner = await openFixture();
  expect(await wait(runner.start([], ["--idle", "1s"]))).toBe(0);
  const ids = [await runner.board.addTask(), await runner.board.addTask(), await runner.board.addTask()];
  const done = async () =>
    (await Promise.all(ids.map((id) => runner.task(id)))).filter(({ status }) => status === "review").length;
  expect(await wait(runner.start([{ say: "Done." }], ["--max-tasks", "2", "--parallel", "3"]))).toBe(0);
  expect(await done()).toBe(2);
  expect(await wait(runner.start([{ say: "Done." }], ["--idle", "1s"]))).toBe(0);
  expect(await done()).toBe(3);
});

test("a runner with --parallel 2 and --once takes one task and ends after it", async () => {
  let asked = 0;
  const runner = await openFixture({
    async intercept(request, next) {
      const answer = await next(request);
      if (request.url.endsWith("/tasks/next")) asked++;
      return answer;
    },
  });
  const running = runner.start([{ say: "Done." }], ["--once", "--parallel", "2"]);
  await vi.waitUntil(() => asked > 0, { timeout: 30_000 });
  const id = await runner.board.addTask();
  expect(await wait(running)).toBe(0);
  expect((await runner.task(id)).status).toBe("review");
});

test("a person's sign-in creates one agent for this machine, whose token is in a file that only the person can read", async () => {
  const runner = await openFixture();
  const person = { BOARD_TOKEN: runner.board.owner.token, BOARD: runner.board.board_id };
  const ids = [await runner.board.addTask(), await runner.board.addTask()];
  const flags = ["--once", "--name", "My machine"];
  const dump = `${runner.home}/dump.json`;
  const first = runner.start([{ dump }, { say: "Done." }], flags, person);
  expect(await wait(first), first.stderr()).toBe(0);
  expect(first.stdout()).toContain("Agent My machine is made.");
  const second = runner.start([{ say: "Done." }], flags, person);
  expect(await wait(second), second.stderr()).toBe(0);
  expect(second.stdout()).not.toContain("is made");
  const { runners } = readJson(`${runner.home}/config/board/config.json`);
  const [{ agent_id, token_file }] = Object.values<{ agent_id: string; token_file: string }>(runners) as [any];
  for (const id of ids) expect(await runner.task(id)).toMatchObject({ status: "review", run: { agent_id } });
  expect(statSync(token_file).mode & 0o777).toBe(0o600);
  // Neither the person's token nor the agent's token reaches the coding agent.
  const seen = readFileSync(dump, "utf8");
  for (const token of [runner.board.owner.token, readFileSync(token_file, "utf8").trim()]) {
    expect(seen).not.toContain(token);
    expect(runner.grep(token).filter((file) => file !== token_file)).toEqual([]);
  }
});

test.runIf(process.platform === "linux")(
  "--service writes a unit that starts the same command from the same folder, without a token, and --remove removes it",
  async () => {
    const runner = await openFixture();
    const file = `${runner.home}/config/systemd/user/board-run-my-machine.service`;
    const flags = [
      "run",
      "--service",
      "--name",
      "My machine",
      "--tag",
      "100%",
      "--exec",
      `"${process.execPath}" tool.mjs`,
      "--repo",
      "..",
    ];
    const written = runner.command(flags);
    expect(await wait(written), written.stderr()).toBe(0);
    expect(written.stdout()).toContain("systemctl --user enable --now board-run-my-machine.service");
    const unit = readFileSync(file, "utf8");
    expect(unit).toContain(`"run" "--name" "My machine" "--tag" "100%%" "--exec"`);
    // The service starts in the repository, so relative paths in the arguments refer to the same files.
    expect(unit).toContain(`WorkingDirectory=${runner.repository}\n`);
    expect(unit).not.toContain(runner.board.worker.token);
    expect(statSync(file).mode & 0o777).toBe(0o600);
    const removed = runner.command([...flags, "--remove"]);
    expect(await wait(removed), removed.stderr()).toBe(0);
    expect(removed.stdout()).toContain("Stop it with: systemctl --user disable --now");
    expect(existsSync(file)).toBe(false);
  },
  60_000,
);
