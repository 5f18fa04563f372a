/** A Lambda sandbox on this machine: AWS's runtime client runs a bundled function, one invocation at a time. */
import { spawn } from "node:child_process";
import { once } from "node:events";
import { closeSync, mkdtempSync, openSync, readSync, rmSync } from "node:fs";
import { createRequire } from "node:module";
import { tmpdir } from "node:os";
import path from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { type Invocation, LambdaError, type StreamedResponse, startRuntimeApi } from "./lambda-runtime-api.ts";

export { LambdaError, type StreamedResponse, type StreamHead } from "./lambda-runtime-api.ts";

const REGION = "us-east-1";
const runtimeClient = createRequire(import.meta.url).resolve("aws-lambda-ric");

export interface LambdaOptions {
  /** The unpacked function, the `folder` of a bundle. */
  folder: string;
  /** The handler as `file.export`. */
  handler?: string;
  name?: string;
  env?: Readonly<Record<string, string>>;
  memoryMb?: number;
  timeoutMs?: number;
  /** Flags of Node, such as `--import` of a file that sets the clock. */
  nodeOptions?: string;
  /** Called for each line that the function writes, at the latest before its answer is returned. */
  onLog?(this: void, line: string): void;
}

export type StreamListeners = Pick<Invocation, "onHead" | "onChunk">;

export interface Lambda {
  readonly pid: number;
  /** The time from the start of the process to its first request for an invocation. */
  readonly initMs: number;
  /** Every line that the function has written, with its line break. */
  readonly logs: readonly string[];
  /** Invokes the handler and returns its result. Throws a `LambdaError` for an error of the handler. */
  invoke<Result = unknown>(event: unknown): Promise<Result>;
  /** Does the same for a streaming handler. The listeners receive the answer as it arrives. */
  stream(event: unknown, listeners?: StreamListeners): Promise<StreamedResponse>;
  /** Stops the sandbox; SIGKILL simulates a crash. A running invocation fails. */
  stop(signal?: "SIGTERM" | "SIGKILL"): Promise<void>;
}

/** Returns the metrics of a function: its log lines in CloudWatch's embedded metric format. */
export const metricsOf = ({ logs }: Lambda) =>
  logs
    .join("")
    .split("\n")
    .filter((line) => line.includes('"_aws"'))
    .map((line) => JSON.parse(line));

/** Starts the sandbox and loads the function. Throws Lambda's `LambdaError` when it does not load. */
export async function startLambda(options: LambdaOptions): Promise<Lambda> {
  const {
    folder,
    handler = "bundle.handler",
    name = path.basename(folder),
    env = {},
    memoryMb = 512,
    timeoutMs = 30_000,
  } = options;
  const api = await startRuntimeApi({ arn: `arn:aws:lambda:${REGION}:123456789012:function:${name}`, timeoutMs });
  const output = openOutput();
  const logs: string[] = [];
  const readLogs = () => {
    for (const line of output.read()) {
      logs.push(`${line}\n`);
      options.onLog?.(line);
    }
  };
  const startedAt = performance.now();
  const child = spawn(process.execPath, ["--require", path.join(import.meta.dirname, "ric-shim.cjs"), runtimeClient], {
    cwd: folder,
    stdio: ["ignore", output.fd, output.fd],
    // A function gets only the variables of its deployment and of Lambda, not those of this process.
    env: {
      PATH: process.env.PATH,
      TZ: ":UTC",
      AWS_LAMBDA_RUNTIME_API: api.address,
      LAMBDA_TASK_ROOT: folder,
      _HANDLER: handler,
      AWS_EXECUTION_ENV: "AWS_Lambda_nodejs24.x",
      AWS_LAMBDA_FUNCTION_NAME: name,
      AWS_LAMBDA_FUNCTION_VERSION: "$LATEST",
      AWS_LAMBDA_FUNCTION_MEMORY_SIZE: String(memoryMb),
      AWS_LAMBDA_LOG_GROUP_NAME: `/aws/lambda/${name}`,
      AWS_LAMBDA_LOG_STREAM_NAME: "local",
      // A deployment has the same log settings (infra/function.ts).
      AWS_LAMBDA_LOG_FORMAT: "JSON",
      AWS_LAMBDA_LOG_LEVEL: "TRACE",
      AWS_REGION: REGION,
      AWS_ACCESS_KEY_ID: "local",
      AWS_SECRET_ACCESS_KEY: "local",
      ...(options.nodeOptions ? { NODE_OPTIONS: options.nodeOptions } : {}),
      ...env,
    },
  });

  let exitError: LambdaError | null = null;
  const exited = once(child, "exit").then(([code, signal]) => {
    readLogs();
    output.close();
    exitError = new LambdaError("Runtime.ExitError", `Runtime exited with ${signal ? `signal ${signal}` : `status ${code}`}`);
    api.fail(exitError);
  });

  async function stop(signal: "SIGTERM" | "SIGKILL" = "SIGTERM") {
    child.kill(signal);
    const killTimer = new AbortController();
    const forceKill = sleep(2_000, null, { signal: killTimer.signal }).then(
      () => child.kill("SIGKILL"),
      () => false,
    );
    await exited;
    killTimer.abort();
    await forceKill;
    await api.close();
  }

  await api.ready.catch(async (error: LambdaError) => {
    await stop("SIGKILL");
    // A process that exits without an error report has its reason only in its log.
    if (error.type === "Runtime.ExitError") error.message += `\n${logs.join("")}`;
    throw error;
  });
  const initMs = performance.now() - startedAt;

  function run(event: unknown, listeners: StreamListeners = {}): Promise<unknown> {
    if (exitError) return Promise.reject(exitError);
    const answer = Promise.withResolvers<unknown>();
    let timer: NodeJS.Timeout | undefined;
    const invocation: Invocation = {
      event,
      resolve: answer.resolve,
      reject: answer.reject,
      onStart: () => {
        timer = setTimeout(() => {
          answer.reject(new LambdaError("Sandbox.Timedout", `Task timed out after ${(timeoutMs / 1000).toFixed(2)} seconds`));
          child.kill("SIGKILL");
        }, timeoutMs);
      },
      ...listeners,
    };
    api.enqueue(invocation);
    return answer.promise.finally(() => {
      clearTimeout(timer);
      readLogs();
    });
  }

  return {
    pid: child.pid ?? 0,
    initMs,
    get logs() {
      readLogs();
      return logs;
    },
    invoke: <Result>(event: unknown) => run(event) as Promise<Result>,
    stream: (event, listeners) => run(event, listeners) as Promise<StreamedResponse>,
    stop,
  };
}

/**
 * Collects the output of a process in an unlinked file. Unlike a pipe, its content is readable as soon as the process
 * has written it. `read` returns the new complete lines.
 */
function openOutput() {
  const folder = mkdtempSync(path.join(tmpdir(), "lambda-"));
  const fd = openSync(path.join(folder, "output"), "a+");
  rmSync(folder, { recursive: true });
  const buffer = Buffer.alloc(64 * 1024);
  let [position, unread, open] = [0, Buffer.alloc(0), true];
  return {
    fd,
    read(): string[] {
      for (let size = 1; open && size > 0; position += size) {
        size = readSync(fd, buffer, 0, buffer.length, position);
        unread = Buffer.concat([unread, buffer.subarray(0, size)]);
      }
      const lines = unread.subarray(0, unread.lastIndexOf("\n") + 1);
      unread = unread.subarray(lines.length);
      return lines.toString().split("\n").slice(0, -1);
    },
    close() {
      if (open) closeSync(fd);
      open = false;
    },
  };
}
