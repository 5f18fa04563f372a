/** One Lambda sandbox on this machine: AWS's own runtime client runs a bundled function, one invocation at a time. */
import { spawn } from "node:child_process";
import { once } from "node:events";
import { closeSync, mkdtempSync, openSync, readSync, rmSync } from "node:fs";
import { createRequire } from "node:module";
import { tmpdir } from "node:os";
import path from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { type Invocation, LambdaError, type StreamedResponse, startRuntimeApi } from "./runtime-api.ts";

export { LambdaError, type StreamedResponse, type StreamHead } from "./runtime-api.ts";

const REGION = "us-east-1";
const runtimeClient = createRequire(import.meta.url).resolve("aws-lambda-ric");

export interface LambdaOptions {
  /** The unpacked function: `folder` of a bundle. */
  folder: string;
  /** `file.export`. */
  handler?: string;
  name?: string;
  env?: Readonly<Record<string, string>>;
  memoryMb?: number;
  timeoutMs?: number;
  /** Node's own flags, such as `--import` of a file that sets the clock. */
  nodeOptions?: string;
  /** Called for each line that the function has written, at the latest before its answer is given back. */
  onLog?(this: void, line: string): void;
}

export type StreamListeners = Pick<Invocation, "onHead" | "onChunk">;

export interface Lambda {
  readonly pid: number;
  /** From the start of the process to the first request for work. */
  readonly initMs: number;
  /** Every line that the function has written, with its end. */
  readonly logs: readonly string[];
  /** Invokes and gives back what the handler returned; throws a `LambdaError` for what it threw. */
  invoke<Result = unknown>(event: unknown): Promise<Result>;
  /** The same for a streaming handler. Its listeners see the answer as it arrives. */
  stream(event: unknown, listeners?: StreamListeners): Promise<StreamedResponse>;
  /** Ends the sandbox; SIGKILL is how a crash looks. What is under way fails. */
  stop(signal?: "SIGTERM" | "SIGKILL"): Promise<void>;
}

/** The metrics that a function has written: its lines in CloudWatch's embedded format. */
export const metricsOf = ({ logs }: Lambda) =>
  logs
    .join("")
    .split("\n")
    .filter((line) => line.includes('"_aws"'))
    .map((line) => JSON.parse(line));

/** Starts the sandbox and loads the function. Throws the `LambdaError` that Lambda would report when it does not load. */
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
    // Not this process's environment: a function sees what its deployment gives it, and Lambda's own variables.
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
      AWS_REGION: REGION,
      AWS_ACCESS_KEY_ID: "local",
      AWS_SECRET_ACCESS_KEY: "local",
      ...(options.nodeOptions ? { NODE_OPTIONS: options.nodeOptions } : {}),
      ...env,
    },
  });

  let gone: LambdaError | null = null;
  const exited = once(child, "exit").then(([code, signal]) => {
    readLogs();
    output.close();
    gone = new LambdaError("Runtime.ExitError", `Runtime exited with ${signal ? `signal ${signal}` : `status ${code}`}`);
    api.fail(gone);
  });

  async function stop(signal: "SIGTERM" | "SIGKILL" = "SIGTERM") {
    child.kill(signal);
    const patience = new AbortController();
    const insist = sleep(2_000, null, { signal: patience.signal }).then(
      () => child.kill("SIGKILL"),
      () => false,
    );
    await exited;
    patience.abort();
    await insist;
    await api.close();
  }

  await api.ready.catch(async (error: LambdaError) => {
    await stop("SIGKILL");
    // Without an error report of its own the process says at least in its log why it went.
    if (error.type === "Runtime.ExitError") error.message += `\n${logs.join("")}`;
    throw error;
  });
  const initMs = performance.now() - startedAt;

  function run(event: unknown, listeners: StreamListeners = {}): Promise<unknown> {
    if (gone) return Promise.reject(gone);
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
 * What a process writes, in a file that has no name any more: unlike a pipe's, its content is there for the reader as soon
 * as the process has written it. `read` gives the whole lines that are new.
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
