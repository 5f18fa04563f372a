/** Several processes of the service on one PostgreSQL database, and a world on it that seeds and reads. */
import path from "node:path";
import { openServerWorld, type ServerWorld } from "../../support/postgres-world.ts";
import { type ServerProcess, startServerProcess } from "../../support/server-process.ts";
import { listen, type Listener, type ListenOptions } from "../../support/sse.ts";
import type { BalancerMethods } from "./balancer.ts";
import { type Part, startPart } from "./part.ts";

/** The default for tests that do not set DATABASE_NOTIFY. The variable can switch NOTIFY off for a whole run. */
const DATABASE_NOTIFY = process.env["DATABASE_NOTIFY"] ?? "on";
const BALANCER = path.join(import.meta.dirname, "balancer.ts");

export interface Balancer {
  url: string;
  part: Part<BalancerMethods>;
}

export interface Cluster extends ServerWorld {
  processes: readonly ServerProcess[];
  /** The processor time of all processes since a time in milliseconds since 1970, including those that have ended. */
  processorTimeSince(time: number): number;
  balancer: Balancer;
  /** Starts one more process. */
  start(environment?: Record<string, string>, launcher?: string): Promise<ServerProcess>;
  /** Removes a process from the balancer and ends it. */
  end(process: ServerProcess, signal?: NodeJS.Signals): Promise<void>;
}

export async function openCluster(size: number, environment: Record<string, string> = {}, check_ms?: number): Promise<Cluster> {
  const shared = await openServerWorld();
  const part = startPart<BalancerMethods>(BALANCER);
  const balancer = { url: await part.call("listen", check_ms ?? null), part };
  const processes: ServerProcess[] = [];
  const started: ServerProcess[] = [];
  async function start(own: Record<string, string> = {}, launcher?: string): Promise<ServerProcess> {
    const process = await startServerProcess({
      issuer: shared.world.identities.issuer,
      environment: { DATABASE_URL: shared.url, DATABASE_NOTIFY, ...environment, ...own },
      launcher,
    });
    processes.push(process);
    started.push(process);
    await part.call("add", process.url);
    return process;
  }
  await Promise.all(Array.from({ length: size }, () => start()));
  return {
    ...shared,
    processes,
    processorTimeSince: (time) => started.reduce((total, process) => total + process.usageSince(time).processor_ms, 0),
    balancer,
    start,
    async end(process, signal) {
      // The balancer notices the end by its checks, or by a refused connection if it makes no checks.
      await process.stop(signal);
      processes.splice(processes.indexOf(process), 1);
      await part.call("remove", process.url);
    },
    async close() {
      await part.stop();
      await Promise.all(processes.map((process) => process.stop()));
      await shared.close();
    },
  };
}

export interface Caller {
  token?: string;
  agent?: string;
}

export interface Reply {
  status: number;
  headers: Headers;
  // Tests read answers of every shape and assert what they read.
  // oxlint-disable-next-line typescript/no-explicit-any
  body: any;
}

/** Calls a process or the balancer. */
export async function callAt(
  { url }: { url: string },
  method: string,
  path: string,
  { token, agent, body, key }: Caller & { body?: object; key?: string } = {},
): Promise<Reply> {
  const response = await fetch(url + path, {
    method,
    headers: {
      ...(token ? { authorization: `Bearer ${token}` } : {}),
      ...(agent ? { "x-agent-token": agent } : {}),
      ...(key ? { "idempotency-key": key } : {}),
      ...(body ? { "content-type": "application/json" } : {}),
    },
    ...(body ? { body: JSON.stringify(body) } : {}),
  });
  const text = await response.text();
  const isJson = response.headers.get("content-type")?.includes("json");
  return { status: response.status, headers: response.headers, body: isJson ? JSON.parse(text) : text };
}

/** Opens a stream at a process or the balancer. */
export const listenAt = ({ url }: { url: string }, path: string, options: ListenOptions): Promise<Listener> =>
  listen((target, init) => fetch(url + target, init), path, options);
