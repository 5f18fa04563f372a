import { readFileSync, statSync } from "node:fs";
import path from "node:path";
import { afterAll, expect, test } from "vitest";
import { type Caller, openCommandLine } from "../support/command-line.ts";
import { cleanUpPrograms } from "../support/program.ts";
import { openPullBoard } from "../support/pull-board.ts";
import { serve } from "../support/serve.ts";
import { setupWorld } from "../support/fixtures.ts";

const world = await setupWorld({ streams: { poll_ms: 20 } });
const home = await openPullBoard(world, "home", { require_approval_for_done: false });
const requests: Request[] = [];
const server = await serve((request) => {
  requests.push(request.clone());
  return world.app.fetch(request);
});
const commandLine = await openCommandLine();
afterAll(cleanUpPrograms);

/** Control characters except line breaks, and characters that change the direction of text. */
const CONTROL = /(?!\n)\p{Cc}|\p{Bidi_Control}/u;

/** Returns a command line that has the token in its environment. */
const as = (token: string): Caller => commandLine.caller({ BOARD_URL: server.url, BOARD_TOKEN: token });

test("the installed command line runs on the oldest supported Node", async () => {
  const { code, stdout } = await commandLine.caller().run(["--version"]);
  expect([code, stdout]).toEqual([0, "0.1.0\n"]);
});

test("a person signs in once, and the token is stored in a file that only its owner may read", async () => {
  const you = commandLine.caller();
  const signedIn = await you.run(["login", "--url", server.url], { input: `${home.owner.token}\n` });
  expect(signedIn).toMatchObject({ code: 0, stdout: `Signed in to ${server.url} as a person.\n` });
  const file = path.join(you.settings, "config.json");
  expect(statSync(file).mode & 0o777).toBe(0o600);
  expect(statSync(you.settings).mode & 0o777).toBe(0o700);
  expect((await you.run(["boards", "--json"])).json()).toMatchObject([{ id: home.board_id, slug: "home-board" }]);
  const doctor = await you.run(["doctor", "--json"]);
  expect(doctor.json()).toMatchObject({
    ok: true,
    findings: [{ check: "settings" }, { check: "service" }, { check: "token" }, { check: "boards" }],
  });
  for (const { stdout, stderr } of [signedIn, doctor]) expect(stdout + stderr).not.toContain(home.owner.token);
  expect(await you.run(["logout"])).toMatchObject({ code: 0 });
  expect(readFileSync(file, "utf8")).not.toContain(home.owner.token);
  expect(await you.run(["boards"])).toMatchObject({ code: 1, stderr: expect.stringContaining('Run "board login"') });
});

test("doctor reports within 20 seconds that a service does not answer", async () => {
  const silent = await serve(() => new Promise(() => {}));
  try {
    const doctor = await commandLine.caller().run(["doctor"], { environment: { BOARD_URL: silent.url } });
    expect(doctor).toMatchObject({
      code: 1,
      stdout: expect.stringContaining(`wrong  service   ${silent.url} cannot be reached`),
    });
  } finally {
    await silent.close();
  }
});

test("a stored token is not sent to another address", async () => {
  const you = commandLine.caller();
  await you.run(["login", "--url", server.url], { input: home.owner.token });
  const other = await serve((request) => Response.json({ seen: request.headers.get("authorization") }));
  try {
    const elsewhere = await you.run(["boards"], { environment: { BOARD_URL: other.url } });
    expect(elsewhere).toMatchObject({ code: 1, stdout: "", stderr: expect.stringContaining("You are not signed in") });
  } finally {
    await other.close();
  }
});

test("a person creates a task, sees it, comments on it and moves it to done", async () => {
  const you = as(home.owner.token);
  const created = await you.run(["task", "create", "Count the lamps", "-d", "-", "-p", "high"], { input: "In all rooms\n" });
  const id = created.stdout.trim();
  expect(created.code).toBe(0);
  expect((await you.run(["task", "comment", id, "12 so far"])).code).toBe(0);
  const shown = (await you.run(["task", "show", id])).stdout;
  for (const text of ["Count the lamps", "In all rooms", "12 so far", "high"]) expect(shown).toContain(text);
  expect((await you.run(["tasks", "--status", "inbox"])).stdout).toMatch(
    new RegExp(`^${id} +inbox +high +Count the lamps$`, "m"),
  );
  expect((await you.run(["done", id, "--comment", "14 lamps", "--json"])).json()).toMatchObject({ id, status: "done" });
  expect((await you.run(["tasks", "--status", "inbox", "--json"])).json()).toEqual([]);
});

test("tasks says when there are more than it lists", async () => {
  const ids = [await home.addTask(), await home.addTask()];
  const you = as(home.owner.token);
  expect((await you.run(["tasks", "--limit", "1"])).stdout).toContain('These are the newest 1. "board tasks --all" lists all.');
  expect((await you.run(["tasks", "--limit", "1", "--json"])).json()).toHaveLength(1);
  expect((await you.run(["tasks", "--all"])).stdout).not.toContain("These are the newest");
  for (const id of ids) await home.call("DELETE", `/api/v1/boards/${home.board_id}/tasks/${id}`, home.owner.token);
});

test("an agent with only a shell takes a task, comments, submits it, and its lead finishes it", async () => {
  const [worker, lead] = [as(home.worker.token), as(home.lead.token)];
  const task = await home.addTask({ title: "Polish the lamps" });
  expect((await worker.run(["inbox", "--wait", "5", "--json"])).json()).toMatchObject({ has_work: true });
  const taken = (await worker.run(["next", "--json"])).json();
  expect(taken).toMatchObject({ task: { id: task, status: "in_progress" } });
  expect((await worker.run(["task", "comment", task, "Half of them"])).code).toBe(0);
  const submitted = (await worker.run(["done", "--comment", "All polished", "--json"])).json();
  expect(submitted).toMatchObject({ id: task, status: "review" });
  expect((await lead.run(["inbox"])).stdout).toContain("Polish the lamps");
  expect((await lead.run(["done", task, "-m", "Thank you"])).stdout).toBe(`done: ${task}\n`);
  expect((await worker.run(["next"])).stdout).toMatch(/^There is no task now\. Ask again in \d+ seconds/);
});

test("inbox prints a whole message, because it is not shown again once it is acknowledged", async () => {
  const content = `@worker ${"long ".repeat(150)}`;
  const path = `/api/v1/boards/${home.board_id}/memory`;
  await home.call("POST", path, home.owner.token, { content, tags: ["chat"] });
  const { stdout } = await as(home.worker.token).run(["inbox", "--ack"]);
  expect(stdout).toContain('\n  Body: {"content":"...","tags":["chat"]}\n');
});

test("an agent writes under the fence of its lease, and is refused once the lease is lost", async () => {
  const worker = as(home.worker.token);
  const task = await home.addTask({ title: "Sweep" });
  await worker.run(["next"]);
  await home.call("PATCH", `/api/v1/boards/${home.board_id}/tasks/${task}`, home.owner.token, {
    status: "inbox",
    assigned_agent_id: null,
  });
  const late = await worker.run(["done", "--comment", "Swept"]);
  expect(late).toMatchObject({ code: 2, stdout: "", stderr: expect.stringContaining("The lease of this task was lost") });
  await worker.run(["next"]);
  expect((await worker.run(["release", "-m", "Another one is better at it"])).stdout).toBe(`Given back: ${task}\n`);
  await home.call("DELETE", `/api/v1/boards/${home.board_id}/tasks/${task}`, home.owner.token);
});

test("an agent asks for an approval, which a person finds and grants", async () => {
  const task = await home.addTask({ title: "Deploy" });
  const asked = await as(home.worker.token).run([
    "ask",
    "deploy",
    "--reason",
    "All tests pass",
    "--task",
    task,
    "--confidence",
    "90",
  ]);
  const id = asked.stdout.trim();
  const you = as(home.owner.token);
  expect((await you.run(["approvals"])).stdout).toMatch(new RegExp(`^${id} +pending +deploy +All tests pass +Deploy$`, "m"));
  expect((await you.run(["approve", id])).stdout).toBe(`approved: ${id}\n`);
  expect(await as(home.worker.token).run(["approve", id, "--reject"])).toMatchObject({ code: 2 });
});

test("the exit code distinguishes a refusal by the service from a failure", async () => {
  const you = as(home.owner.token);
  const missing = await you.run(["task", "show", crypto.randomUUID(), "--json"]);
  expect(missing).toMatchObject({ code: 2, stdout: "" });
  expect(JSON.parse(missing.stderr)).toMatchObject({
    error: { message: "Not Found", status: 404, request_id: expect.any(String) },
  });
  expect(await as("not-a-token").run(["boards"])).toMatchObject({
    code: 2,
    stderr: expect.stringContaining("Not authenticated"),
  });
  expect(await you.run(["task", "show", "7"])).toMatchObject({
    code: 1,
    stderr: expect.stringContaining("is not the id of a task"),
  });
  expect(await you.run(["taskz"])).toMatchObject({ code: 1, stderr: expect.stringContaining("unknown command") });
  const down = await you.run(["boards"], { environment: { BOARD_URL: "http://127.0.0.1:9" } });
  expect(down).toMatchObject({ code: 1, stderr: expect.stringContaining("No answer from http://127.0.0.1:9") });
});

test("control characters for a terminal are removed from other people's texts, and are escaped in JSON output", async () => {
  const evil = "Pay\u001b[2J\u001b]0;title\u0007 me\u202e now\u009b31m";
  const task = await home.addTask({ title: evil, description: `line 1\nline 2${evil}` });
  const you = as(home.owner.token);
  for (const args of [["tasks"], ["task", "show", task]]) {
    const { stdout } = await you.run(args);
    expect(stdout).toContain("Pay[2J]0;title me now31m");
    expect(stdout).not.toMatch(CONTROL);
  }
  const json = await you.run(["tasks", "--json"]);
  expect(json.stdout).not.toMatch(CONTROL);
  expect(json.json()[0].title).toBe(evil);
  await home.call("DELETE", `/api/v1/boards/${home.board_id}/tasks/${task}`, home.owner.token);
});

test("NO_COLOR takes precedence over FORCE_COLOR, and output to anything but a terminal has no colors", async () => {
  const you = as(home.owner.token);
  expect((await you.run(["boards"])).stdout).not.toContain("\u001b");
  expect((await you.run(["boards"], { environment: { FORCE_COLOR: "1" } })).stdout).toContain("\u001b[1mID");
  expect((await you.run(["boards"], { environment: { FORCE_COLOR: "1", NO_COLOR: "1" } })).stdout).not.toContain("\u001b");
});

test("an agent is connected with a token that is stored in a file and never printed", async () => {
  const you = as(home.owner.token);
  const made = (await you.run(["agent", "connect", "Ada", "--json"])).json();
  const token = readFileSync(made.token_file, "utf8").trim();
  expect(statSync(made.token_file).mode & 0o777).toBe(0o600);
  expect(JSON.stringify(made)).not.toContain(token);
  const printed = await you.run(["agent", "connect", "Bob"]);
  expect(printed.stdout).toContain("claude mcp add --scope user --transport http board");
  const ada = commandLine.caller({ BOARD_URL: server.url, BOARD_TOKEN_FILE: made.token_file });
  expect((await ada.run(["doctor"])).stdout).toContain(`ok     token     of the agent ${made.agent.id}`);
});

test("watch prints changes as they happen, one JSON object in a line", async () => {
  const since = new Date(Date.now() - 1000).toISOString();
  const task = await home.addTask({ title: "Watched" });
  const { spawn } = await import("node:child_process");
  const env = {
    PATH: process.env["PATH"],
    BOARD_URL: server.url,
    BOARD_TOKEN: home.owner.token,
    XDG_CONFIG_HOME: commandLine.caller().settings,
  };
  const child = spawn(commandLine.node, [commandLine.program, "watch", "--json", "--since", since], { env });
  const seen: any[] = [];
  try {
    let text = "";
    for await (const part of child.stdout.setEncoding("utf8")) {
      text += part;
      const lines = text.split("\n");
      text = lines.pop()!;
      for (const line of lines) seen.push(JSON.parse(line));
      if (seen.some(({ data }) => data.task?.id === task)) break;
    }
  } finally {
    child.kill("SIGKILL");
  }
  expect(seen).toContainEqual(
    expect.objectContaining({ event: "task", data: expect.objectContaining({ type: "task.created" }) }),
  );
});

test("jobs are listed for admins and refused to agents", async () => {
  expect((await as(home.owner.token).run(["jobs", "--json"])).json()).toEqual(expect.any(Array));
  expect(await as(home.worker.token).run(["jobs"])).toMatchObject({ code: 2 });
  expect((await as(home.owner.token).run(["jobs", "redrive", "--all"])).stdout).toBe("Redriven: 0.\n");
});

test("completion offers commands, subcommands and options, and each shell's script is valid", async () => {
  const you = commandLine.caller();
  expect((await you.run(["complete", "--"])).stdout.split("\n")).toEqual(
    expect.arrayContaining(["login", "tasks", "watch", "--json"]),
  );
  expect((await you.run(["complete", "--", "task"])).stdout.split("\n")).toEqual(
    expect.arrayContaining(["show", "create", "move", "comment"]),
  );
  expect((await you.run(["complete", "--", "tasks"])).stdout).toContain("--unassigned");
  for (const shell of ["bash", "zsh", "fish"])
    expect((await you.run(["completion", shell])).stdout).toContain("board complete --");
});

test("no request of the command line has a token in its address", () => {
  expect(requests.length).toBeGreaterThan(20);
  for (const { url } of requests)
    for (const token of [home.owner.token, home.worker.token, home.lead.token]) expect(url).not.toContain(token);
});
