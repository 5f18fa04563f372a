/** Sets up a service, a repository and the command line, with which tests run agents on tasks. */
import { execFileSync, spawn } from "node:child_process";
import { existsSync, mkdirSync, readdirSync, readFileSync, writeFileSync } from "node:fs";
import path from "node:path";
import { afterAll, onTestFinished } from "vitest";
import { setupWorld } from "../support/fixtures.ts";
import { cleanUpPrograms, temporaryFolder } from "../support/program.ts";
import { type PullBoard, openPullBoard } from "../support/pull-board.ts";
import { serve } from "../support/serve.ts";
import type { World } from "../support/world.ts";

const AGENT = path.resolve(import.meta.dirname, "../support/scripted-agent.mjs");
const BUILD = path.resolve(import.meta.dirname, "../../packages/cli/build.mjs");

export type Action = Record<string, unknown>;

export interface RunningRunner {
  pid: number;
  stdout: () => string;
  stderr: () => string;
  exited: Promise<{ code: number | null; signal: NodeJS.Signals | null }>;
  signal(name: NodeJS.Signals): void;
}

export interface RunnerFixture {
  world: World;
  board: PullBoard;
  url: string;
  repository: string;
  home: string;
  /** Folder of the journals. */
  runs: string;
  /** Starts `board run` with a script for the agent. */
  start(
    script: readonly Action[],
    flags?: readonly string[],
    environment?: Record<string, string>,
    node?: readonly string[],
  ): RunningRunner;
  /** Starts `board` with any arguments. */
  command(args: readonly string[], environment?: Record<string, string>, node?: readonly string[]): RunningRunner;
  task(id: string): Promise<any>;
  comments(id: string): Promise<string[]>;
  steps(run_id: string): Promise<any[]>;
  run(run_id: string): Promise<any>;
  runsOf(task_id: string): Promise<any[]>;
  /** Lists the files of the home folder, including the repository, that contain a text. */
  grep(text: string): string[];
  git(...args: string[]): string;
  close(): Promise<void>;
  worktree(task_id: string): string;
  journals(): string[];
}

let built: string | undefined;

/** Builds the command line once per process, into a temporary folder. */
export function buildCommandLine(): string {
  // The folder of an earlier test file may have been deleted.
  if (built && existsSync(built)) return built;
  const folder = path.join(temporaryFolder(), "dist");
  execFileSync(process.execPath, [BUILD, folder]);
  return (built = path.join(folder, "board.js"));
}

export interface FixtureOptions {
  program: string;
  subject?: string;
  /** Handles each request of the runner, and can pass it to the service by `next`. */
  intercept?: (request: Request, next: (request: Request) => Promise<Response>) => Promise<Response>;
}

/** Returns a function that opens a fixture for one test. All tests of a file share a service and the built command line. */
export async function setupRunners(): Promise<(options?: Partial<FixtureOptions>) => Promise<RunnerFixture>> {
  const program = buildCommandLine();
  afterAll(cleanUpPrograms);
  const world = await setupWorld();
  return async (options = {}) => {
    const fixture = await openRunnerFixture(world, { program, ...options });
    onTestFinished(() => fixture.close());
    return fixture;
  };
}

export async function openRunnerFixture(world: World, { program, subject, intercept }: FixtureOptions): Promise<RunnerFixture> {
  const board = await openPullBoard(world, subject ?? `owner-${crypto.randomUUID()}`);
  const next = async (request: Request) => world.app.fetch(request);
  const server = await serve(intercept ? (request) => intercept(request, next) : next);
  const home = temporaryFolder();
  const repository = path.join(home, "repository");
  mkdirSync(repository);
  const git = (...args: string[]) => execFileSync("git", args, { cwd: repository, encoding: "utf8" }).trim();
  git("init", "--quiet", "--initial-branch=main");
  writeFileSync(path.join(repository, "lamps.txt"), "14\n");
  git("add", "--all");
  git("-c", "user.name=person", "-c", "user.email=person@localhost", "commit", "--quiet", "--message=Begin");
  const running = new Set<RunningRunner>();
  const close = async () => {
    for (const runner of running) runner.signal("SIGKILL");
    await Promise.all([...running].map((runner) => runner.exited));
    await server.close();
  };

  function command(
    args: readonly string[],
    environment: Record<string, string> = {},
    node: readonly string[] = [],
  ): RunningRunner {
    const env = {
      PATH: process.env["PATH"]!,
      HOME: home,
      XDG_CONFIG_HOME: path.join(home, "config"),
      XDG_STATE_HOME: path.join(home, "state"),
      BOARD_URL: server.url,
      BOARD_TOKEN: board.worker.token,
      ...environment,
    };
    const child = spawn(process.execPath, [...node, program, ...args], {
      cwd: repository,
      env,
      stdio: ["ignore", "pipe", "pipe"],
    });
    let stdout = "";
    let stderr = "";
    child.stdout.setEncoding("utf8").on("data", (text: string) => (stdout += text));
    child.stderr.setEncoding("utf8").on("data", (text: string) => (stderr += text));
    const runner: RunningRunner = {
      pid: child.pid!,
      stdout: () => stdout,
      stderr: () => stderr,
      exited: new Promise((resolve) => child.once("close", (code, signal) => resolve({ code, signal }))),
      signal: (name) => void child.kill(name),
    };
    running.add(runner);
    void runner.exited.then(() => running.delete(runner));
    return runner;
  }
  const read = async (target: string) => (await board.call("GET", target, board.owner.token)).body;
  const runs = path.join(home, "state/board/runs");
  return {
    world,
    board,
    url: server.url,
    repository,
    home,
    runs,
    command,
    start(script, flags = ["--once"], environment, node) {
      const file = path.join(home, `script-${crypto.randomUUID()}.json`);
      writeFileSync(file, JSON.stringify(script));
      return command(["run", ...flags, "--", process.execPath, AGENT, file], environment, node);
    },
    task: (id) => read(`/api/v1/boards/${board.board_id}/tasks/${id}`),
    async comments(id) {
      const { items } = await read(`/api/v1/boards/${board.board_id}/tasks/${id}/comments`);
      return items.map(({ message }: { message: string }) => message);
    },
    async steps(run_id) {
      const found: any[] = [];
      for (let cursor = ""; ; ) {
        const page = await read(`/api/v1/boards/${board.board_id}/runs/${run_id}/steps?limit=200${cursor}`);
        found.push(...page.items);
        if (!page.next_cursor) return found;
        cursor = `&cursor=${encodeURIComponent(page.next_cursor)}`;
      }
    },
    runsOf: async (id) => (await read(`/api/v1/boards/${board.board_id}/tasks/${id}/runs`)).items,
    run: (run_id) => read(`/api/v1/boards/${board.board_id}/runs/${run_id}`),
    grep: (text) =>
      readdirSync(home, { recursive: true, withFileTypes: true })
        .filter((entry) => entry.isFile())
        .map((entry) => path.join(entry.parentPath, entry.name))
        .filter((file) => readFileSync(file).includes(text)),
    git,
    close,
    worktree: (task_id) => path.join(repository, ".board/worktrees", task_id),
    journals: () => (existsSync(runs) ? readdirSync(runs).filter((name) => name.endsWith(".jsonl")) : []),
  };
}

export const readJson = (file: string): any => JSON.parse(readFileSync(file, "utf8"));
