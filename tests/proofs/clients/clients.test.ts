/** MCP clients as they come from npm are connected with the commands that people copy, and work on tasks without help. */
import { execFile } from "node:child_process";
import { mkdirSync } from "node:fs";
import path from "node:path";
import { promisify } from "node:util";
import { type Connection, connectionLines } from "@board/cli/connection-lines";
import { afterAll, beforeAll, describe, expect, onTestFinished, test } from "vitest";
import { type CommandLine, openCommandLine } from "../../support/command-line.ts";
import { cleanUpPrograms, temporaryFolder } from "../../support/program.ts";
import { openPullBoard, type PullBoard } from "../../support/pull-board.ts";
import { serve } from "../../support/serve.ts";
import { createWorld, type World } from "../../support/world.ts";
import { clients, type McpClient, writeCommands } from "./clients.ts";
import { startModel } from "./model.ts";
import { NOTHING_LEFT } from "./script.ts";

const TASKS = 10;
const run = promisify(execFile);

let world: World;
let server: Awaited<ReturnType<typeof serve>>;
let commandLine: CommandLine;
let commands: string;

beforeAll(async () => {
  world = await createWorld();
  server = await serve((request) => world.app.fetch(request));
  commandLine = await openCommandLine();
  commands = writeCommands(temporaryFolder());
});
afterAll(async () => {
  await cleanUpPrograms();
  await server.close();
  await world.close();
});

interface Connected {
  agent_id: string;
  /** Runs a line as a person does in a shell, in the folder of a project. */
  shell: (line: string) => Promise<string>;
  unattended: string;
}

interface NewAgent {
  agent: { id: string };
  connections: Connection[];
}

/** The ways in which a person makes an agent for a client. */
const makers = {
  async "the command line"({ owner }: PullBoard, name: string): Promise<NewAgent> {
    const you = commandLine.caller({ BOARD_URL: server.url, BOARD_TOKEN: owner.token });
    return (await you.run(["agent", "connect", name, "--json"])).json();
  },
  async "the console"({ addAgent }: PullBoard, name: string): Promise<NewAgent> {
    const { id, token } = await addAgent(name);
    return { agent: { id }, connections: connectionLines({ url: server.url, source: { token } }) };
  },
};

/** Connects a client by running the command line that the service shows for it. */
async function connect({ agent, connections }: NewAgent, client: McpClient, mayGoOn?: () => Promise<void>): Promise<Connected> {
  const model = await startModel(mayGoOn);
  onTestFinished(() => model.close());
  const home = temporaryFolder();
  const project = path.join(home, "project");
  mkdirSync(project);
  // Requests to any other address go to a closed port.
  const offline = { HTTPS_PROXY: "http://127.0.0.1:9", HTTP_PROXY: "http://127.0.0.1:9", NO_PROXY: "127.0.0.1" };
  const base = { HOME: home, TMPDIR: home, PATH: `${commands}:${path.dirname(process.execPath)}:${process.env["PATH"]}` };
  const env = { ...base, ...offline, ...client.useModel(model.url, home) };
  const { line, unattended } = connections.find(({ title }) => title === client.title)!;
  const shell = async (line: string) => {
    const running = run("sh", ["-c", line], { cwd: project, env, timeout: 240_000 });
    running.child.stdin?.end();
    const { stdout, stderr } = await running;
    return stdout + stderr;
  };
  await shell(line);
  return { agent_id: agent.id, shell, unattended: unattended! };
}

async function openBoard(subject: string): Promise<PullBoard> {
  const board = await openPullBoard(world, subject);
  for (let number = 1; number <= TASKS; number++) await board.addTask({ title: `Count the lamps of room ${number}` });
  return board;
}

/** Returns the status of each task of the board, and the agents that began it. */
async function workOn({ call, board_id, owner }: PullBoard): Promise<{ status: string; begun_by: string[] }[]> {
  const { body } = await call("GET", `/api/v1/boards/${board_id}/tasks?limit=200`, owner.token);
  return Promise.all(
    body.items.map(async ({ id, status }: { id: string; status: string }) => {
      const comments = await call("GET", `/api/v1/boards/${board_id}/tasks/${id}/comments`, owner.token);
      const begun = comments.body.items.filter(({ content }: { content: string }) => content === "I have begun.");
      return { status, begun_by: begun.map(({ agent_id }: { agent_id: string }) => agent_id) };
    }),
  );
}

describe.each(Object.entries(makers))("connected by the line of %s", (_, make) => {
  test.each(clients)(
    "an MCP client connected by the printed line works alone on all tasks of its board: $title",
    async (client) => {
      const board = await openBoard(`${client.title} ${crypto.randomUUID()}`);
      const { shell, unattended, agent_id } = await connect(await make(board, client.title), client);
      expect(await shell(unattended)).toContain(NOTHING_LEFT);
      expect(await workOn(board)).toEqual(Array.from({ length: TASKS }, () => ({ status: "review", begun_by: [agent_id] })));
    },
  );
});

const [claude, codex, opencode, gemini] = clients as [McpClient, McpClient, McpClient, McpClient];
test.each([
  { one: claude, other: codex },
  { one: opencode, other: gemini },
  { one: claude, other: claude },
])("when $one.title and $other.title work at the same time, each task of a board is done once", async ({ one, other }) => {
  const pair = [one, other];
  const board = await openBoard(`${one.title} and ${other.title}`);
  let waiting = pair.length;
  const { promise: both, resolve } = Promise.withResolvers<void>();
  // Both clients take a task before either continues, so that neither finds the board empty.
  const mayGoOn = () => {
    if (--waiting === 0) resolve();
    return both;
  };
  const made = await Promise.all(pair.map((_, index) => makers["the command line"](board, `Agent ${index}`)));
  const connected = await Promise.all(pair.map((client, index) => connect(made[index]!, client, mayGoOn)));
  const said = await Promise.all(connected.map(({ shell, unattended }) => shell(unattended)));
  for (const text of said) expect(text).toContain(NOTHING_LEFT);
  const work = await workOn(board);
  expect(work.map(({ status, begun_by }) => [status, begun_by.length])).toEqual(
    Array.from({ length: TASKS }, () => ["review", 1]),
  );
  expect(new Set(work.flatMap(({ begun_by }) => begun_by))).toEqual(new Set(connected.map(({ agent_id }) => agent_id)));
});
