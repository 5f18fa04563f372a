import { existsSync, mkdirSync, readFileSync, writeFileSync } from "node:fs";
import path from "node:path";
import { afterAll, expect, test } from "vitest";
import { type Caller, openCommandLine } from "../support/command-line.ts";
import { isAccepted } from "../support/http.ts";
import { cleanUpPrograms, temporaryFolder } from "../support/program.ts";
import { openPullBoard } from "../support/pull-board.ts";
import { serve } from "../support/serve.ts";
import { setup, setupWorld } from "../support/fixtures.ts";

const world = await setupWorld();
const home = await openPullBoard(world, "home", { require_approval_for_done: false });
const server = await setup(serve((request) => world.app.fetch(request)));
const commandLine = await openCommandLine();
// Adds a second board, so that the person has several boards.
await home.call("POST", "/api/v1/boards", home.owner.token, { name: "Attic", description: "Old things", gateway: "pull" });
afterAll(cleanUpPrograms);

const as = (token: string): Caller => commandLine.caller({ BOARD_URL: server.url, BOARD_TOKEN: token });

test("a shown task names its assignee and the agents that commented on it", async () => {
  const task = await home.addTask({ title: "Polish the lamps" });
  await as(home.worker.token).run(["next"]);
  await as(home.worker.token).run(["task", "comment", task, "Half of them"]);
  for (const token of [home.owner.token, home.lead.token, home.worker.token]) {
    const { stdout } = await as(token).run(["task", "show", task]);
    expect(stdout).toMatch(/^assigned to: +Worker$/m);
    expect(stdout).toMatch(/Z {2}Worker$/m);
    expect(stdout).not.toContain(home.worker.id);
  }
  const json = (await as(home.owner.token).run(["task", "show", task, "--json"])).json();
  expect(json).toMatchObject({ assigned_agent_id: home.worker.id, comments: [{ agent_id: home.worker.id }] });
});

test("a task in review names the agent that handed it in, although it has no assignee", async () => {
  const alone = await openPullBoard(world, "alone", { require_approval_for_done: false });
  await alone.call("DELETE", `/api/v1/agents/${alone.lead.id}`, alone.owner.token);
  const task = await alone.addTask({ title: "Repair the ladder" });
  await as(alone.worker.token).run(["next"]);
  await as(alone.worker.token).run(["done", task]);
  const { stdout } = await as(alone.owner.token).run(["task", "show", task]);
  expect(stdout).toMatch(/^status: +review$/m);
  expect(stdout).toMatch(/^handed in by: +Worker$/m);
  expect(stdout).not.toMatch(/^assigned to:/m);
});

test("a task is found by its id among several boards", async () => {
  const you = as(home.owner.token);
  const task = await home.addTask({ title: "Sweep" });
  expect((await you.run(["task", "show", task])).stdout).toContain("Sweep");
  expect(await you.run(["task", "comment", task, "With the big broom"])).toMatchObject({ code: 0, stderr: "" });
  expect(await you.run(["done", task])).toMatchObject({ code: 0, stdout: `done: ${task}\n` });
  const missing = await you.run(["done", crypto.randomUUID()]);
  expect(missing).toMatchObject({ code: 2, stdout: "", stderr: expect.stringContaining("Not Found") });
});

test("board agents lists the agents that the person or agent may see, with their boards", async () => {
  const you = as(home.owner.token);
  await you.run(["agent", "connect", "Old one", "--board", "attic"]);
  const all = await you.run(["agents"]);
  expect(all.stdout).toMatch(new RegExp(`^${home.lead.id} +Lead +lead +home-board +\\w+`, "m"));
  expect(all.stdout).toMatch(/ Old one +worker +attic +ready +never$/m);
  const some = (await you.run(["agents", "--board", "attic", "--json"])).json();
  expect(some).toMatchObject([{ name: "Old one", is_board_lead: false }]);
  const seen = (await as(home.worker.token).run(["agents", "--json"])).json();
  expect(seen.map(({ name }: { name: string }) => name).toSorted()).toEqual(["Lead", "Worker"]);
});

test("a program that a runner has started comments on its task with the token of the run", async () => {
  const { worker: agent, addTask } = await openPullBoard(world, "started");
  const task = await addTask();
  const taken = await world.call("POST", "/api/v1/agent/tasks/next", { agent: agent.token, body: {} });
  const made = await world.call("POST", `/api/v1/agent/runs/${taken.body.task.run.id}/token`, { agent: agent.token });
  const commented = await as(made.body.token).run(["task", "comment", task, "Half of it"]);
  expect(commented).toMatchObject({ code: 0, stdout: `Commented on ${task}.\n`, stderr: "" });
});

test("an agent gives a task back with its reason", async () => {
  const worker = as((await home.addAgent("Giver")).token);
  const task = await home.addTask({ title: "Paint", priority: "high" });
  await worker.run(["next"]);
  expect((await worker.run(["release", "--reason", "I have no brush"])).stdout).toBe(`Given back: ${task}\n`);
  const { stdout } = await as(home.owner.token).run(["task", "show", task]);
  expect(stdout).toMatch(/^status: +inbox$/m);
  expect(stdout).toContain("I have no brush");
});

test("two shells that wait for the work of one agent, and so end each other's waits, pause between their requests", async () => {
  const { worker } = await openPullBoard(world, "idle");
  let requests = 0;
  const counting = await serve((request) => {
    if (request.url.includes("/inbox")) requests++;
    return world.app.fetch(request);
  });
  try {
    const agent = commandLine.caller({ BOARD_URL: counting.url, BOARD_TOKEN: worker.token });
    const wait = () => agent.run(["inbox", "--wait", "4"]);
    for (const { code, stdout } of await Promise.all([wait(), wait()]))
      expect([code, stdout]).toEqual([0, "Nothing waits for you.\n"]);
    expect(requests).toBeLessThan(20);
  } finally {
    await counting.close();
  }
});

test("rotating the token of an agent stores the new one where the old one was, and prints neither", async () => {
  const you = as(home.owner.token);
  const made = (await you.run(["agent", "connect", "Rosa", "-b", "home-board", "--json"])).json();
  const old = readFileSync(made.token_file, "utf8").trim();
  const rotated = await you.run(["agent", "rotate", made.agent.id]);
  const token = readFileSync(made.token_file, "utf8").trim();
  expect(rotated).toMatchObject({ code: 0, stdout: `The new token is in ${made.token_file}\n`, stderr: "" });
  expect([await isAccepted(world, old), await isAccepted(world, token)]).toEqual([false, true]);
});

test("rotating the token of an agent on a host stores no token, because the host gets it", async () => {
  const tenant = await world.tenant("hosted");
  const { stdout } = await as(tenant.owner.token).run(["agent", "rotate", tenant.worker.id, "--json"]);
  expect(JSON.parse(stdout)).toEqual({ agent_id: tenant.worker.id, token_file: null });
});

test("connecting an agent prints the commands or settings for each client, and none of them contains the token", async () => {
  const file = path.join(temporaryFolder(), "it's a token");
  const made = await as(home.owner.token).run(["agent", "connect", "Ida", "-b", "home-board", "--token-file", file, "--json"]);
  const token = readFileSync(file, "utf8").trim();
  const { connections } = made.json();
  expect(connections.map(({ title }: { title: string }) => title)).toEqual([
    "Claude Code",
    "Codex",
    "opencode",
    "Gemini CLI",
    "Cursor and others with an mcp.json",
    "A shell",
    "curl",
    "TypeScript",
  ]);
  expect(made.stdout).not.toContain(token);
  const printed = (await as(home.owner.token).run(["agent", "connect", "Jo", "-b", "home-board"])).stdout;
  for (const line of ["--allowedTools mcp__board", "codex exec", "opencode run", "gemini --skip-trust -p"])
    expect(printed).toContain(line);
});

test("if the answer with a new agent's token is lost, no token is stored, and the error names the command that rotates it", async () => {
  let isLost = false;
  const flaky = await serve(async (request) => {
    const answer = await world.app.fetch(request);
    if (isLost || request.method !== "POST") return answer;
    isLost = true;
    return new Response(null, { status: 503 });
  });
  const file = path.join(temporaryFolder(), "token");
  try {
    const you = commandLine.caller({ BOARD_URL: flaky.url, BOARD_TOKEN: home.owner.token });
    const made = await you.run(["agent", "connect", "Lost", "-b", "home-board", "--token-file", file]);
    expect(made).toMatchObject({ code: 1, stdout: "", stderr: expect.stringContaining("the service sends it only once") });
    expect(existsSync(file)).toBe(false);
    const [, id = ""] = /board agent rotate (\S+)"/.exec(made.stderr) ?? [];
    expect((await you.run(["agent", "rotate", id, "--token-file", file])).code).toBe(0);
    expect(await isAccepted(world, readFileSync(file, "utf8").trim())).toBe(true);
  } finally {
    await flaky.close();
  }
});

test("the line for a shell calls the program by a path that works in any folder", async () => {
  const made = await as(home.owner.token).run(["agent", "connect", "Shelly", "-b", "home-board", "--json"]);
  const { line } = made.json().connections.find(({ title }: { title: string }) => title === "A shell");
  expect(line).toContain(`${commandLine.program} next`);
});

test("a sign-in finds the service that was started on the data folder, at any port and after any other sign-in", async () => {
  const folder = temporaryFolder();
  mkdirSync(path.join(folder, ".data"));
  const signIn = (caller: Caller, url: string, cwd: string) => {
    writeFileSync(path.join(folder, ".data/service.url"), `${url}\n`);
    return caller.run(["login"], { input: home.owner.token, cwd });
  };
  const other = await serve((request) => world.app.fetch(request));
  try {
    const you = commandLine.caller();
    for (const { url } of [server, other])
      expect(await signIn(you, url, folder)).toMatchObject({ code: 0, stdout: `Signed in to ${url} as a person.\n` });
    const elsewhere = temporaryFolder();
    expect((await you.run(["boards", "--json"], { cwd: elsewhere })).json()).toHaveLength(2);
    const named = commandLine.caller({ DATA_DIR: path.join(folder, ".data") });
    const everywhere = server.url.replace("127.0.0.1", "0.0.0.0");
    expect((await signIn(named, everywhere, elsewhere)).stdout).toBe(`Signed in to ${server.url} as a person.\n`);
  } finally {
    await other.close();
  }
});

test("the command line ignores the address in the folder's file if it leads to another machine", async () => {
  const folder = temporaryFolder();
  mkdirSync(path.join(folder, ".data"));
  writeFileSync(path.join(folder, ".data/service.url"), "http://127.0.0.1.evil.example:8000\n");
  const you = commandLine.caller({ BOARD_URL: "" });
  const { stdout, stderr } = await you.run(["doctor"], { cwd: folder });
  expect(stdout + stderr).not.toContain("evil.example");
});

test("if a sign-in cannot reach the service, the error names the option --url", async () => {
  const you = commandLine.caller({ BOARD_URL: "http://127.0.0.1:9" });
  const down = await you.run(["login"], { input: home.owner.token, cwd: temporaryFolder() });
  expect(down).toMatchObject({ code: 1, stdout: "", stderr: expect.stringMatching(/No answer from .*--url/) });
});

test("a hint shows the command by which the program was called", async () => {
  const hint = async (environment: Record<string, string>) =>
    (await commandLine.caller({ BOARD_URL: server.url, ...environment }).run(["boards"])).stderr;
  expect(await hint({})).toContain('Run "board login"');
  expect(await hint({ npm_command: "exec" })).toContain('Run "npx board login"');
  const help = await commandLine.caller({ npm_command: "exec" }).run(["--help"]);
  expect(help.stdout).toContain('what "npx board login" stored');
});
