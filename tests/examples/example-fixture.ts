/** Runs the programs of `examples/` as a reader does: as processes that are configured by their environment. */
import { spawn } from "node:child_process";
import path from "node:path";
import { afterAll, beforeAll, vi } from "vitest";
import { openPullBoard, type PullBoard } from "../support/pull-board.ts";
import { type RunningService, startRunningService } from "../support/running-service.ts";
import { serve } from "../support/serve.ts";

export const EXAMPLES = path.resolve(import.meta.dirname, "../../examples");
/** An example starts in less than a second. The limit is far longer, because the machine may be busy. */
const OUTPUT_TIMEOUT_MS = 20_000;

export interface Example {
  stdout: string;
  stderr: string;
  exited: Promise<number | null>;
  /** Waits for a text on standard output and returns the match. */
  waitForOutput(pattern: RegExp): Promise<RegExpMatchArray>;
  stop(signal?: NodeJS.Signals): Promise<number | null>;
}

export interface ExampleService {
  readonly url: string;
  readonly service: RunningService;
  /** Opens a board in a new organization with a lead and a worker. */
  openBoard(subject: string, fields?: object): Promise<PullBoard>;
  /** Starts an example for this board. */
  start(name: string, board: PullBoard, environment?: Record<string, string>): Example;
  /** Runs an example until it ends, and returns what it prints. Throws when it fails. */
  run(name: string, board: PullBoard, environment?: Record<string, string>): Promise<string>;
}

/** Starts the service on loopback for the tests of a file. */
export function setupExamples(): ExampleService {
  const started = new Set<Example>();
  let service: RunningService;
  let server: Awaited<ReturnType<typeof serve>>;
  beforeAll(async () => {
    service = await startRunningService({ streams: { poll_ms: 50 } });
    server = await serve((request) => service.world.app.fetch(request));
  });
  afterAll(async () => {
    await Promise.all([...started].map((example) => example.stop("SIGKILL")));
    await server.close();
    await service.close();
  });

  function start(name: string, board: PullBoard, environment: Record<string, string> = {}): Example {
    const example = startExample(name, {
      BOARD_URL: server.url,
      BOARD_TOKEN: board.owner.token,
      BOARD: board.board_id,
      LEAD_TOKEN: board.lead.token,
      AGENT_TOKEN: board.worker.token,
      ...environment,
    });
    started.add(example);
    return example;
  }

  return {
    get url() {
      return server.url;
    },
    get service() {
      return service;
    },
    openBoard: (subject, fields) => openPullBoard(service.world, subject, { require_approval_for_done: false, ...fields }),
    start,
    async run(...how) {
      const example = start(...how);
      const code = await example.exited;
      if (code !== 0) throw new Error(`${how[0]} exited with ${code}:\n${example.stdout}${example.stderr}`);
      return example.stdout;
    },
  };
}

function startExample(name: string, environment: Record<string, string>): Example {
  const env = { PATH: process.env["PATH"], HOME: process.env["HOME"], NO_COLOR: "1", ...environment };
  const file = path.join(EXAMPLES, `${name}.ts`);
  const child = spawn(process.execPath, [file], { cwd: path.dirname(EXAMPLES), env, stdio: ["ignore", "pipe", "pipe"] });
  let hasExited = false;
  const example: Example = {
    stdout: "",
    stderr: "",
    exited: new Promise((resolve, reject) => {
      child.once("error", reject);
      child.once("close", (code) => {
        hasExited = true;
        resolve(code);
      });
    }),
    async waitForOutput(pattern) {
      const find = () => pattern.exec(example.stdout);
      const wait = vi.waitUntil(() => find() ?? hasExited, { timeout: OUTPUT_TIMEOUT_MS, interval: 20 });
      await wait.catch(() => {});
      const match = find();
      if (!match) throw new Error(`${name} did not print ${pattern}:\n${example.stdout}${example.stderr}`);
      return match;
    },
    stop(signal = "SIGTERM") {
      child.kill(signal);
      return example.exited;
    },
  };
  child.stdout.setEncoding("utf8").on("data", (text: string) => (example.stdout += text));
  child.stderr.setEncoding("utf8").on("data", (text: string) => (example.stderr += text));
  return example;
}
