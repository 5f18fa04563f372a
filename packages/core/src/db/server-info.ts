import { sql } from "drizzle-orm";
import type { Db } from "../context/db.ts";
import { rowsOf } from "./database.ts";

/** Facts about a database server, measured on one connection. */
export interface ServerInfo {
  /** The version that the server reports, such as `18.4`. */
  version: string;
  /** The fastest of a few round trips, in milliseconds. */
  latency_ms: number;
  /** How many milliseconds the server's clock is ahead of this machine's, accurate to half of the latency. */
  ahead_ms: number;
}

const SAMPLES = 3;

/** Measures a database server on one connection. Throws if the server does not answer. */
export async function readServerInfo(db: Db): Promise<ServerInfo> {
  // The first statement opens the connection, so its duration is not measured.
  const version = await db.execute(sql`select current_setting('server_version') as version`);
  const samples: Omit<ServerInfo, "version">[] = [];
  for (let round = 0; round < SAMPLES; round++) {
    const [clock, start] = [Date.now(), performance.now()];
    const answer = await db.execute(sql`select (extract(epoch from clock_timestamp()) * 1000)::float8 as now`);
    const latency_ms = performance.now() - start;
    samples.push({ latency_ms, ahead_ms: rowsOf<{ now: number }>(answer)[0]!.now - (clock + latency_ms / 2) });
  }
  const fastest = samples.toSorted((one, other) => one.latency_ms - other.latency_ms)[0]!;
  return { version: rowsOf<{ version: string }>(version)[0]!.version, ...fastest };
}
