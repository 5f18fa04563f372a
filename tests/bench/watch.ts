import { execFileSync } from "node:child_process";
import http from "node:http";
import { setTimeout as pause } from "node:timers/promises";
import pg from "pg";
import type { Postgres } from "../support/postgres.ts";
import type { Service } from "./service.ts";

const WATCHED_MS = 20_000;
const REQUEST_EVERY_MS = 10;
const COMMENT_EVERY_MS = 100;
const LOOK_EVERY_MS = 50;
/** Requests before any is timed. */
const WARM = 300;

/** Half of all, and all but one in a hundred, are not longer; milliseconds. */
export interface Share {
  p50: number;
  p99: number;
}

/** What a service costs and how it answers, while comments are written. */
export interface State {
  request_ms: Share;
  memory_mb: number;
  statements_per_second: number;
  /** Most database connections that were at work at a moment. */
  connections: number;
}

interface Watched {
  postgres: Postgres;
  database: string;
  service: Service;
  headers: Record<string, string>;
  write: () => Promise<void>;
}

export function shareOf(times: number[]): Share {
  const sorted = times.toSorted((a, b) => a - b);
  const at = (share: number) => sorted[Math.min(sorted.length - 1, Math.floor(sorted.length * share))] ?? Number.NaN;
  return { p50: at(0.5), p99: at(0.99) };
}

/** Sends plain requests and comments, each kind one after the other at a steady pace. */
export async function watch({ postgres, database, service, headers, write }: Watched): Promise<State> {
  const times: number[] = [];
  const agent = new http.Agent({ keepAlive: true, maxSockets: 1 });
  const request = async () => {
    const start = performance.now();
    await get(`${service.url}/api/v1/boards`, agent, headers);
    times.push(performance.now() - start);
  };
  for (let n = 0; n < WARM; n++) await request();
  times.length = 0;
  // Connected to another database, so that looking is not among what is counted.
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
    await Promise.all([paced(REQUEST_EVERY_MS, request), paced(COMMENT_EVERY_MS, write), paced(LOOK_EVERY_MS, look)]);
    const seconds = (performance.now() - start) / 1000;
    // The database counts with a delay of up to a second.
    await pause(1_100);
    const statements_per_second = ((await statements()) - before) / seconds;
    const resident_kb = Number(execFileSync("ps", ["-o", "rss=", "-p", String(service.pid)], { encoding: "utf8" }));
    return { request_ms: shareOf(times), memory_mb: resident_kb / 1024, statements_per_second, connections };
  } finally {
    await client.end();
    agent.destroy();
  }
}

async function paced(every_ms: number, work: () => Promise<void>): Promise<void> {
  const ends = performance.now() + WATCHED_MS;
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
