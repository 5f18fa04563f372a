import { execFileSync } from "node:child_process";
import { chmodSync, existsSync, mkdirSync, readFileSync, rmSync, symlinkSync, writeFileSync } from "node:fs";
import path from "node:path";
import { expect, test } from "vitest";
import { type RunnerFixture, setupRunners } from "./runner-fixture.ts";

const openFixture = await setupRunners();

/** Lets the agent change a file of a new task. */
async function workOn(runner: RunnerFixture, title: string): Promise<string> {
  const id = await runner.board.addTask({ title });
  await runner.start([{ write: ["lamps.txt", title] }, { say: "Done." }]).exited;
  return id;
}

async function finish(runner: RunnerFixture, id: string): Promise<void> {
  const { board_id, owner, call } = runner.board;
  await call("PATCH", `/api/v1/boards/${board_id}`, owner.token, { require_approval_for_done: false });
  const answer = await call("PATCH", `/api/v1/boards/${board_id}/tasks/${id}`, owner.token, { status: "done" });
  expect(answer.status, answer.text).toBe(200);
}

/** Creates a folder for PATH that contains git and these programs. */
function pathWith(runner: RunnerFixture, programs: Record<string, string>): string {
  const folder = path.join(runner.home, "bin");
  mkdirSync(folder);
  symlinkSync(execFileSync("which", ["git"], { encoding: "utf8" }).trim(), path.join(folder, "git"));
  for (const [name, text] of Object.entries(programs)) {
    writeFileSync(path.join(folder, name), text);
    chmodSync(path.join(folder, name), 0o755);
  }
  return folder;
}

function addRemote(runner: RunnerFixture): string {
  const remote = path.join(runner.home, "remote.git");
  runner.git("init", "--quiet", "--bare", remote);
  runner.git("remote", "add", "origin", remote);
  return remote;
}

test("--clean lists the worktrees, removes the worktrees without changes whose task is done, and keeps their branches", async () => {
  const runner = await openFixture();
  const [done, changed, open] = [await workOn(runner, "Done"), await workOn(runner, "Changed"), await workOn(runner, "Open")];
  await finish(runner, done);
  await finish(runner, changed);
  writeFileSync(`${runner.worktree(changed)}/more.txt`, "1");
  const { exited, stdout, stderr } = runner.command(["run", "--clean"]);
  expect((await exited).code, stderr()).toBe(0);
  expect([done, changed, open].map((id) => existsSync(runner.worktree(id)))).toEqual([false, true, true]);
  expect(stdout()).toMatch(new RegExp(`board/${done.slice(0, 8)}-done +done +1 +removed`));
  expect(stdout()).toMatch(new RegExp(`board/${changed.slice(0, 8)}-changed +done +1 +changed`));
  expect(stdout()).toMatch(new RegExp(`board/${open.slice(0, 8)}-open +review +1 +clean`));
  expect(runner.git("for-each-ref", "refs/heads/board").split("\n")).toHaveLength(3);
});

test("--clean removes nothing while the service does not answer", async () => {
  let isDown = false;
  const runner = await openFixture({
    intercept: async (request, next) =>
      isDown && request.url.includes("/tasks/") ? Response.json({ detail: "Later" }, { status: 503 }) : next(request),
  });
  const id = await workOn(runner, "Done");
  await finish(runner, id);
  isDown = true;
  expect((await runner.command(["run", "--clean"]).exited).code).not.toBe(0);
  expect(existsSync(runner.worktree(id))).toBe(true);
});

test("the next start of the runner removes the worktree of a task that is done, if the worktree is clean", async () => {
  const runner = await openFixture();
  const [done, changed, open] = [await workOn(runner, "Done"), await workOn(runner, "Changed"), await workOn(runner, "Open")];
  await finish(runner, done);
  await finish(runner, changed);
  writeFileSync(`${runner.worktree(changed)}/more.txt`, "1");
  expect((await runner.start([], ["--idle", "2s"]).exited).code).toBe(0);
  expect([done, changed, open].map((id) => existsSync(runner.worktree(id)))).toEqual([false, true, true]);
});

test("--pr pushes the branch and opens a pull request, which the run and the comment name", async () => {
  const runner = await openFixture();
  const remote = addRemote(runner);
  const words = path.join(runner.home, "words");
  const gh = `#!/bin/sh\nfor word in "$@"; do echo "$word" >> "${words}"; done\necho https://code.example/pull/7\n`;
  const id = await runner.board.addTask({ title: '--web "$(touch owned)"' });
  const script = [{ write: ["lamps.txt", "15"] }, { say: "Counted." }];
  const running = runner.start(script, ["--once", "--pr"], { PATH: pathWith(runner, { gh }) });
  expect((await running.exited).code, running.stderr()).toBe(0);
  const { status, run } = await runner.task(id);
  expect([status, await runner.comments(id)]).toEqual(["review", ["Counted.\n\nPull request: https://code.example/pull/7"]]);
  expect((await runner.run(run.id)).links).toContainEqual(
    expect.objectContaining({ kind: "pull_request", url: "https://code.example/pull/7" }),
  );
  const branch = runner.git("for-each-ref", "--format=%(refname:short)", "refs/heads/board");
  expect(execFileSync("git", ["--git-dir", remote, "log", "-1", "--format=%s", branch], { encoding: "utf8" })).toContain("--web");
  expect(readFileSync(words, "utf8").split("\n").slice(0, 4)).toEqual([
    "pr",
    "create",
    `--head=${branch}`,
    '--title=--web "$(touch owned)"',
  ]);
});

test("without gh and glab, --pr pushes the branch and says what to do, and without a remote it names the branch with the work", async () => {
  const runner = await openFixture();
  const environment = { PATH: pathWith(runner, {}) };
  const work = async () => {
    const id = await runner.board.addTask({ title: "Count" });
    await runner.start([{ write: ["lamps.txt", "15"] }, { say: "Counted." }], ["--once", "--pr"], environment).exited;
    return (await runner.comments(id))[0];
  };
  expect(await work()).toMatch(/^Counted\.\n\nNo pull request was opened, because the repository has no remote named origin\./);
  const remote = addRemote(runner);
  expect(await work()).toMatch(/^Counted\.\n\nThe branch board\/\S+ is pushed\. Neither gh nor glab is installed/);
  expect(execFileSync("git", ["--git-dir", remote, "for-each-ref"], { encoding: "utf8" })).toContain("refs/heads/board/");
});

test.each([
  ["before the worktree was noted", () => {}],
  [
    "while git created the worktree",
    (runner: RunnerFixture, folder: string) => {
      runner.git("worktree", "lock", "--reason", "initializing", folder);
      rmSync(path.join(folder, "lamps.txt"));
    },
  ],
])("a task can begin again after its runner was killed %s, and nothing is missing in the worktree", async (_when, killed) => {
  const runner = await openFixture();
  const id = await runner.board.addTask({ title: "Lamps" });
  const folder = runner.worktree(id);
  runner.git("worktree", "add", "--quiet", "-b", `board/${id.slice(0, 8)}-lamps`, folder);
  killed(runner, folder);
  expect((await runner.start([{ write: ["count.txt", "3"] }, { say: "Done." }]).exited).code).toBe(0);
  expect((await runner.task(id)).status).toBe("review");
  expect(runner.git("diff", "--name-status", "HEAD", `board/${id.slice(0, 8)}-lamps`)).toBe("A\tcount.txt");
});

test("a folder without a note that has changes is kept, and the task is given back with the reason", async () => {
  const runner = await openFixture();
  const id = await runner.board.addTask({ title: "Lamps" });
  const folder = runner.worktree(id);
  runner.git("worktree", "add", "--quiet", "-b", "mine", folder);
  writeFileSync(path.join(folder, "mine.txt"), "1");
  await runner.start([{ say: "Done." }]).exited;
  expect([readFileSync(path.join(folder, "mine.txt"), "utf8"), (await runner.task(id)).status]).toEqual(["1", "inbox"]);
});
