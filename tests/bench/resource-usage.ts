import { execFileSync } from "node:child_process";
import http from "node:http";
import { setTimeout as pause } from "node:timers/promises";
import pg from "pg";
import type { Postgres } from "../support/postgres.ts";
import type { Service } from "./service.ts";

const DURATION_MS = 20_000;
const REQUEST_EVERY_MS = 10;
const COMMENT_EVERY_MS = 100;
const SAMPLE_EVERY_MS = 50;
/** The number of warm-up requests. */
const WARM_UP_REQUESTS = 300;

/** The 50th, 95th and 99th percentile in milliseconds. */
export interface Percentiles {
  p50: number;
  p95: number;
  p99: number;
}

/** The resource usage and the response times of a service while comments are written. */
export interface ResourceUsage {
  request_ms: Percentiles;
  memory_mb: number;
  statements_per_second: number;
  /** The maximum number of database connections in use at a time. */
  connections: number;
}

interface UsageTarget {
  postgres: Postgres;
  database: string;
  service: Service;
  headers: Record<string, string>;
  write: () => Promise<void>;
}

export function percentilesOf(times: number[]): Percentiles {
  const sorted = times.toSorted((a, b) => a - b);
  const at = (share: number) => sorted[Math.min(sorted.length - 1, Math.floor(sorted.length * share))] ?? Number.NaN;
  return { p50: at(0.5), p95: at(0.95), p99: at(0.99) };
}

/** Sends reads and comments at a steady rate, each kind sequentially. */
export async function measureUsage({ postgres, database, service, headers, write }: UsageTarget): Promise<ResourceUsage> {
  const times: number[] = [];
  const agent = new http.Agent({ keepAlive: true, maxSockets: 1 });
  const request = async () => {
    const start = performance.now();
    await get(`${service.url}/api/v1/boards`, agent, headers);
    times.push(performance.now() - start);
  };
  for (let n = 0; n < WARM_UP_REQUESTS; n++) await request();
  times.length = 0;
  // Connects to another database, so that its own statements are not counted.
  const client = new pg.Client(postgres.url("postgres"));
  await client.connect();
  const read = async (text: string) => Number((await client.query<{ value: string }>(text, [database])).rows[0]!.value);
  const statements = () => read("select xact_commit + xact_rollback as value from pg_stat_database where datname = $1");
  let connections = 0;
  const look = async () => {
    const working = await read("select count(*) as value from pg_stat_activity where datname = $1 and state <> 'idle'");
    connections = Math.max(connections, working);
  };
  try {
    const before = await statements();
    const start = performance.now();
    await Promise.all([runPaced(REQUEST_EVERY_MS, request), runPaced(COMMENT_EVERY_MS, write), runPaced(SAMPLE_EVERY_MS, look)]);
    const seconds = (performance.now() - start) / 1000;
    // The statistics of the database lag by up to a second.
    await pause(1_100);
    const statements_per_second = ((await statements()) - before) / seconds;
    const resident_kb = Number(execFileSync("ps", ["-o", "rss=", "-p", String(service.pid)], { encoding: "utf8" }));
    return { request_ms: percentilesOf(times), memory_mb: resident_kb / 1024, statements_per_second, connections };
  } finally {
    await client.end();
    agent.destroy();
  }
}

async function runPaced(every_ms: number, work: () => Promise<void>): Promise<void> {
  const ends = performance.now() + DURATION_MS;
  for (let next = performance.now(); next < ends; next = Math.max(next + every_ms, performance.now())) {
    await pause(Math.max(0, next - performance.now()));
    await work();
  }
}

const get = (url: string, agent: http.Agent, headers: Record<string, string>) =>
  new Promise<void>((resolve, reject) => {
    const request = http.get(url, { agent, headers }, (response) => {
      response.resume().on("end", resolve).on("error", reject);
      if (response.statusCode !== 200) reject(new Error(`${url} was answered ${response.statusCode}`));
    });
    request.on("error", reject);
  });
