import { readFileSync } from "node:fs";
import { expect, test } from "vitest";
import { readJson, setupRunners } from "./runner-fixture.ts";

const openFixture = await setupRunners();

test("a task moves from the inbox to review, with the work on a branch of its worktree and the agent's last message as comment", async () => {
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
});

test("the changes of a submitted run are a diff on its task", async () => {
  const runner = await openFixture();
  const id = await runner.board.addTask({ title: "Count the lamps" });
  const { exited, stdout } = runner.start([{ write: ["lamps.txt", "15\n"] }, { say: "I counted." }]);
  expect(await exited, stdout()).toEqual({ code: 0, signal: null });
  const board = `/api/v1/boards/${runner.board.board_id}`;
  const read = (target: string) => runner.board.call("GET", target, runner.board.owner.token);
  const { items } = (await read(`${board}/tasks/${id}/artifacts`)).body;
  const { run } = await runner.task(id);
  expect(items).toMatchObject([{ name: "changes.diff", content_type: "text/x-diff", run_id: run.id, status: "ready" }]);
  expect((await read(`${board}/artifacts/${items[0].id}/content`)).text).toContain("+++ b/lamps.txt\n@@ -1 +1 @@\n-14\n+15\n");
});

test("the steps of a run show what the agent said and did, in order, with its tokens and its price", async () => {
  const runner = await openFixture();
  const id = await runner.board.addTask({ title: "Count the lamps" });
  const { exited } = runner.start([
    { think: "First " },
    { think: "the cellar." },
    { tool: { toolCallId: "1", title: "Edit", kind: "edit", status: "pending", locations: [{ path: "a.txt", line: 3 }] } },
    {
      tool_update: {
        toolCallId: "1",
        status: "completed",
        content: [{ type: "diff", path: "a.txt", oldText: null, newText: "15" }],
      },
    },
    { plan: [{ content: "Count", priority: "high", status: "completed" }] },
    { raw: "Not a message" },
    { cost: 0.1 + 0.2 },
    { say: "Half a character \ud800 and NUL \u0000." },
  ]);
  expect((await exited).code).toBe(0);
  const { run, usage } = await runner.task(id);
  const steps = await runner.steps(run.id);
  expect(steps.map(({ at: _at, n: _n, ...step }) => step)).toEqual([
    { kind: "thought", text: "First the cellar." },
    {
      kind: "tool_call",
      tool_call_id: "1",
      title: "Edit",
      tool_kind: "edit",
      status: "pending",
      locations: [{ path: "a.txt", line: 3 }],
    },
    { kind: "tool_call", tool_call_id: "1", status: "completed", diff: { path: "a.txt", old: "", new: "15" } },
    { kind: "plan", entries: [{ content: "Count", priority: "high", status: "completed" }] },
    { kind: "log", stream: "stdout", text: "Not a message" },
    { kind: "message", text: "Half a character \ufffd and NUL ." },
    expect.objectContaining({ kind: "usage", input_tokens: 20, output_tokens: 10, cost_usd: expect.stringMatching(/^0\.30*$/) }),
  ]);
  expect(usage.total_tokens).toBe(30);
});

test("texts and lists of an agent that are too long for a step are cut and marked, and the steps after them arrive", async () => {
  const KB16 = 16_384;
  const long = "x".repeat(3 * KB16);
  const runner = await openFixture();
  const id = await runner.board.addTask({ title: "Count the lamps" });
  const places = Array.from({ length: 300 }, (_, line) => ({ path: "a.txt", line }));
  const { exited, stdout } = runner.start([
    { think: long },
    { tool: { toolCallId: "1", title: long, kind: "execute", status: "pending", rawInput: { command: long } } },
    { tool_update: { toolCallId: "1", rawOutput: "€".repeat(KB16) } },
    { tool_update: { toolCallId: "1", locations: places } },
    { plan: [{ content: long, priority: "high", status: "completed" }] },
    { say: "Done." },
  ]);
  expect((await exited).code, stdout()).toBe(0);
  const { run } = await runner.task(id);
  const steps = (await runner.steps(run.id)).filter(({ kind }) => kind !== "usage");
  const cut = long.slice(0, KB16);
  expect(steps).toMatchObject([
    { kind: "thought", text: cut, truncated: true },
    { title: cut, input: `{"command":"${long}`.slice(0, KB16), truncated: true },
    { output: "€".repeat(Math.floor(KB16 / 3)), truncated: true },
    { locations: places.slice(0, 200), truncated: true },
    { entries: [{ content: cut }], truncated: true },
    { kind: "message", text: "Done." },
  ]);
  expect(steps.at(-1)).not.toHaveProperty("truncated");
});

test("a long message of an agent that arrives in pieces is stored whole, even where a character has three bytes", async () => {
  const runner = await openFixture();
  const id = await runner.board.addTask({ title: "Count the lamps" });
  const { exited, stdout } = runner.start(Array.from({ length: 200 }, () => ({ say: "灯".repeat(100) })));
  expect((await exited).code, stdout()).toBe(0);
  const { run } = await runner.task(id);
  const said = (await runner.steps(run.id)).filter(({ kind }) => kind === "message");
  expect(said.map(({ text }) => text).join("")).toBe("灯".repeat(20_000));
});

test("a step that is too large for a request is replaced by a note, and the steps after it arrive", async () => {
  const runner = await openFixture();
  const id = await runner.board.addTask({ title: "Count the lamps" });
  const content = "x".repeat(10_000);
  const plan = Array.from({ length: 150 }, () => ({ content, priority: "high", status: "pending" }));
  const { exited, stdout } = runner.start([{ plan }, { say: "Done." }]);
  expect((await exited).code, stdout()).toBe(0);
  const { run } = await runner.task(id);
  expect((await runner.steps(run.id)).filter(({ kind }) => kind !== "usage")).toMatchObject([
    { kind: "log", stream: "runner", text: "A step of the agent could not be stored." },
    { kind: "message", text: "Done." },
  ]);
});

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
  // The token must not be in the agent's folder or in its settings either.
  for (const token of tokens) expect(runner.grep(token)).toEqual([]);
});
