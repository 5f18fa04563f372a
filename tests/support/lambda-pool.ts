/** The sandboxes of a world. They start on demand, one per concurrent request of a function up to a limit. */
import path from "node:path";
import { type ApiGroup, deliveries, groups, outbound, probes, scheduleRunner, stream, syncs } from "@board/functions/manifest";
import { type Lambda, LambdaError, type StreamedResponse, type StreamListeners, startLambda } from "./lambda-sandbox.ts";

interface LambdaPool {
  invoke<Result>(name: string, event: unknown): Promise<Result>;
  /** Streams until the client disconnects. Lambda would continue the function; here its sandbox is stopped to free it. */
  stream(name: string, event: unknown, listeners: StreamListeners, signal: AbortSignal): Promise<StreamedResponse>;
  close(): Promise<void>;
}

interface LambdaPoolOptions {
  /** The folder that contains one bundle folder per function. */
  bundles: string;
  environment: Readonly<Record<string, string>>;
  /** Files to load before the function. */
  preloads: readonly string[];
  onLog(this: void, line: string): void;
}

/** The usage of all worlds in this process. */
export const lambdaUsage = { sandboxes: 0, invocations: 0 };

/** The maximum number of sandboxes per function; further invocations wait. Every open stream has a separate sandbox. */
const MAX_SANDBOXES = 8;
const MAX_STREAMS = 12;

interface FunctionPool {
  idle: Lambda[];
  running: number;
  waiting: (() => void)[];
}

const sizes: Record<string, { timeout_seconds: number; memory_mb: number }> = {
  ...(groups as Record<string, ApiGroup>),
  stream,
  deliveries,
  syncs,
  probes,
  outbound,
  schedule: scheduleRunner,
};

export function createLambdaPool({ bundles, environment, preloads, onLog }: LambdaPoolOptions): LambdaPool {
  const pools = new Map<string, FunctionPool>();
  const all = new Set<Promise<Lambda>>();
  let closed = false;

  function poolOf(name: string): FunctionPool {
    const pool = pools.get(name) ?? { idle: [], running: 0, waiting: [] };
    pools.set(name, pool);
    return pool;
  }

  function start(name: string): Promise<Lambda> {
    const { timeout_seconds, memory_mb } = sizes[name]!;
    const starting = startLambda({
      folder: path.join(bundles, name),
      env: environment,
      nodeOptions: preloads.map((file) => `--require ${path.join(import.meta.dirname, file)}`).join(" "),
      timeoutMs: timeout_seconds * 1000,
      memoryMb: memory_mb,
      onLog,
    });
    all.add(starting);
    lambdaUsage.sandboxes++;
    return starting;
  }

  async function withSandbox<T>(name: string, use: (sandbox: Lambda) => Promise<T>): Promise<T> {
    const pool = poolOf(name);
    while (pool.running >= (name === "stream" ? MAX_STREAMS : MAX_SANDBOXES))
      await new Promise<void>((go) => pool.waiting.push(go));
    if (closed) throw new LambdaError("Sandbox.Closed", "The world is closed");
    pool.running++;
    lambdaUsage.invocations++;
    try {
      const sandbox = pool.idle.pop() ?? (await start(name));
      try {
        const result = await use(sandbox);
        pool.idle.push(sandbox);
        return result;
      } catch (error) {
        // A sandbox stays usable after an error of its handler, but not after any other error.
        if (error instanceof LambdaError && !/^(Runtime|Sandbox)\./.test(error.type)) pool.idle.push(sandbox);
        else await sandbox.stop("SIGKILL");
        throw error;
      }
    } finally {
      pool.running--;
      pool.waiting.shift()?.();
    }
  }

  return {
    invoke: <Result>(name: string, event: unknown) => withSandbox(name, (sandbox) => sandbox.invoke<Result>(event)),
    stream: (name, event, listeners, signal) =>
      withSandbox(name, async (sandbox) => {
        const end = () => void sandbox.stop("SIGKILL");
        signal.addEventListener("abort", end, { once: true });
        if (signal.aborted) end();
        try {
          const streamed = await sandbox.stream(event, listeners);
          // The abort has stopped the sandbox, so it cannot be used again, even if its answer was complete by then.
          if (signal.aborted) throw new LambdaError("Sandbox.Closed", "The client has disconnected");
          return streamed;
        } finally {
          signal.removeEventListener("abort", end);
        }
      }),
    async close() {
      closed = true;
      for (const pool of pools.values()) for (const go of pool.waiting.splice(0)) go();
      for (const result of await Promise.allSettled(all)) if (result.status === "fulfilled") await result.value.stop("SIGKILL");
    },
  };
}
