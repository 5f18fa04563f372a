import { existsSync, mkdirSync, readFileSync, writeFileSync } from "node:fs";
import { expect, test, vi } from "vitest";
import { type RunnerFixture, setupRunners } from "./runner-fixture.ts";

const openFixture = await setupRunners();

/** Waits until permissions are pending, and returns them. */
const pending = (runner: RunnerFixture, count = 1): Promise<any[]> =>
  vi.waitUntil(
    async () => {
      const path = `/api/v1/boards/${runner.board.board_id}/approvals?status=pending`;
      const { items } = (await runner.board.call("GET", path, runner.board.owner.token)).body;
      return items.length >= count && items;
    },
    { timeout: 60_000, interval: 100 },
  );

const decide = (runner: RunnerFixture, id: string, body: object) =>
  runner.board.call("PATCH", `/api/v1/boards/${runner.board.board_id}/approvals/${id}`, runner.board.owner.token, body);

const answersIn = (file: string) => (existsSync(file) ? readFileSync(file, "utf8").trim().split("\n") : []);

test("a command waits for a person, who sees it with its options, and the answer selects the option", async () => {
  const runner = await openFixture();
  const id = await runner.board.addTask({ title: "Count" });
  const note = `${runner.home}/answers`;
  const command = { kind: "execute", title: "Run the tests", rawInput: { command: "npm test" }, note };
  const running = runner.start([{ permission: command }, { permission: command }, { say: "Done." }]);
  const [first] = await pending(runner);
  expect(first).toMatchObject({
    action_type: "run.permission",
    description: "Run the tests",
    task_ids: [id],
    payload: {
      tool: "execute",
      excerpt: "npm test",
      options: [
        { id: "yes", name: "Allow", kind: "allow_once" },
        { id: "no", name: "Reject", kind: "reject_once" },
        { id: "board:always_in_task", name: "Always in this task", kind: "allow_always" },
      ],
    },
  });
  await decide(runner, first.id, { status: "rejected" });
  const [second] = await vi.waitUntil(async () => (await pending(runner)).filter(({ id }) => id !== first.id), {
    timeout: 60_000,
  });
  await decide(runner, second.id, { status: "approved", option_id: "yes" });
  expect((await running.exited).code).toBe(0);
  expect(answersIn(note)).toEqual(["no", "yes"]);
  expect((await runner.task(id)).status).toBe("review");
});

test("a person who always allows a command in a task is not asked in this task for other commands of the same program", async () => {
  const runner = await openFixture();
  await runner.board.addTask({ title: "Count" });
  const note = `${runner.home}/answers`;
  const npm = { kind: "execute", rawInput: { command: "npm test" }, note };
  const running = runner.start([
    { permission: npm },
    { permission: { ...npm, rawInput: { command: "npm run lint" } } },
    { say: "Done." },
  ]);
  const [first] = await pending(runner);
  await decide(runner, first.id, { status: "approved", option_id: "board:always_in_task" });
  expect((await running.exited).code).toBe(0);
  expect(answersIn(note)).toEqual(["yes", "yes"]);
});

test("permission to always allow a command does not cover a line that runs another command after it", async () => {
  const runner = await openFixture();
  await runner.board.addTask({ title: "Count" });
  const note = `${runner.home}/answers`;
  const run = (command: string) => ({ permission: { kind: "execute", rawInput: { command }, note } });
  const running = runner.start([run("npm test"), run("npm test; curl example.com"), { say: "Done." }]);
  const [first] = await pending(runner);
  await decide(runner, first.id, { status: "approved", option_id: "board:always_in_task" });
  const [second] = await vi.waitUntil(async () => (await pending(runner)).filter(({ id }) => id !== first.id), {
    timeout: 60_000,
  });
  expect(second.payload.excerpt).toBe("npm test; curl example.com");
  await decide(runner, second.id, { status: "rejected" });
  expect((await running.exited).code).toBe(0);
  expect(answersIn(note)).toEqual(["yes", "no"]);
});

test("reads, searches and edits inside the worktree are allowed, and an edit outside of it waits for a person", async () => {
  const runner = await openFixture();
  const id = await runner.board.addTask({ title: "Count" });
  const note = `${runner.home}/answers`;
  const edit = (path: string) => ({ permission: { kind: "edit", title: `Edit ${path}`, locations: [{ path }], note } });
  const running = runner.start(
    [
      edit("lamps.txt"),
      { permission: { kind: "search", note } },
      edit(".git/hooks/post-commit"),
      edit("../../../lamps.txt"),
      { permission: { kind: "fetch", title: "Fetch", note } },
      { say: "Done." },
    ],
    ["--once", "--ask-timeout", "2s"],
  );
  expect((await running.exited).code).toBe(0);
  expect(answersIn(note)).toEqual(["yes", "yes", "no", "no", "no"]);
  const comments = await runner.comments(id);
  expect(comments.filter((text) => text.includes("had no answer in time, so it was denied"))).toHaveLength(3);
});

test("the first matching rule of the policy of the repository decides", async () => {
  const runner = await openFixture();
  await runner.board.addTask({ title: "Count" });
  const note = `${runner.home}/answers`;
  mkdirSync(`${runner.repository}/.board`);
  const rules = [
    { command: "git push", decision: "deny" },
    { tool_kind: "execute", command: "git status", decision: "allow" },
    { path: "secrets/**", decision: "deny" },
  ];
  writeFileSync(`${runner.repository}/.board/policy.json`, JSON.stringify({ rules }));
  const run = (command: string) => ({ permission: { kind: "execute", title: command, rawInput: { command }, note } });
  const running = runner.start(
    [
      run("git status --short"),
      run("cd x && git push --force"),
      run("git status; curl example.com"),
      { permission: { kind: "read", locations: [{ path: "secrets/key" }], note } },
      { say: "Done." },
    ],
    ["--once", "--ask-timeout", "2s"],
  );
  expect((await running.exited).code).toBe(0);
  expect(answersIn(note)).toEqual(["yes", "no", "no", "no"]);
});

test("a policy with a mistake is refused at the start, and the error names the field", async () => {
  const runner = await openFixture();
  mkdirSync(`${runner.repository}/.board`);
  writeFileSync(`${runner.repository}/.board/policy.json`, JSON.stringify({ rules: [{ decision: "maybe" }] }));
  const { exited, stderr } = runner.start([]);
  expect((await exited).code).toBe(1);
  expect(stderr()).toMatch(/policy\.json is not a policy: [^]*rules\[0\]\.decision/);
});
