/** The sandboxes of a world: started when they are needed, as many per function as requests come at once, up to a few. */
import path from "node:path";
import { type ApiGroup, deliveries, groups, scheduled, stream, syncs } from "@board/functions/manifest";
import { type Lambda, LambdaError, type StreamedResponse, type StreamListeners, startLambda } from "./lambda-host.ts";

export interface Sandboxes {
  invoke<Result>(name: string, event: unknown): Promise<Result>;
  /** Lambda would let the function go on after its client has left; here its sandbox is ended, to make room. */
  stream(name: string, event: unknown, listeners: StreamListeners, signal: AbortSignal): Promise<StreamedResponse>;
  close(): Promise<void>;
}

export interface SandboxesOptions {
  /** Holds a folder per function. */
  bundles: string;
  environment: Readonly<Record<string, string>>;
  /** Files that are loaded before the function. */
  preloads: readonly string[];
  onLog(this: void, line: string): void;
}

/** What the sandboxes of all worlds of this process did. */
export const work = { sandboxes: 0, invocations: 0 };

/** Of one function at a time; what comes beyond waits. Every open stream has one to itself. */
const MOST = 8;
const MOST_STREAMS = 12;

interface Pool {
  idle: Lambda[];
  running: number;
  waiting: (() => void)[];
}

const sizes: Record<string, { timeout_seconds: number; memory_mb: number }> = {
  ...(groups as Record<string, ApiGroup>),
  stream,
  deliveries,
  syncs,
  schedule: scheduled,
};

export function createSandboxes({ bundles, environment, preloads, onLog }: SandboxesOptions): Sandboxes {
  const pools = new Map<string, Pool>();
  const all = new Set<Promise<Lambda>>();
  let closed = false;

  function poolOf(name: string): Pool {
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
    work.sandboxes++;
    return starting;
  }

  async function withSandbox<T>(name: string, use: (sandbox: Lambda) => Promise<T>): Promise<T> {
    const pool = poolOf(name);
    while (pool.running >= (name === "stream" ? MOST_STREAMS : MOST)) await new Promise<void>((go) => pool.waiting.push(go));
    if (closed) throw new LambdaError("Sandbox.Closed", "The world is closed");
    pool.running++;
    work.invocations++;
    try {
      const sandbox = pool.idle.pop() ?? (await start(name));
      try {
        const result = await use(sandbox);
        pool.idle.push(sandbox);
        return result;
      } catch (error) {
        // What the handler threw leaves the sandbox as it is; it is gone after everything else.
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
          return await sandbox.stream(event, listeners);
        } finally {
          signal.removeEventListener("abort", end);
        }
      }),
    async close() {
      closed = true;
      for (const pool of pools.values()) for (const go of pool.waiting.splice(0)) go();
      for (const one of await Promise.allSettled(all)) if (one.status === "fulfilled") await one.value.stop("SIGKILL");
    },
  };
}
