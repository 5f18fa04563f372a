import { sql } from "drizzle-orm";
import type { Db } from "../context.ts";
import { rowsOf } from "./database.ts";

/** A database server as one connection sees it. */
export interface Server {
  /** As it names it, `18.4`. */
  version: string;
  /** Of the fastest of a few statements, milliseconds. */
  latency_ms: number;
  /** By how much its clock is ahead of this machine's, give or take half of the latency. */
  ahead_ms: number;
}

const ROUNDS = 3;

/** Throws when the server does not answer. */
export async function readServer(db: Db): Promise<Server> {
  // The first statement also connects.
  const found = await db.execute(sql`select current_setting('server_version') as version`);
  const rounds: Omit<Server, "version">[] = [];
  for (let round = 0; round < ROUNDS; round++) {
    const [clock, start] = [Date.now(), performance.now()];
    const answer = await db.execute(sql`select (extract(epoch from clock_timestamp()) * 1000)::float8 as now`);
    const latency_ms = performance.now() - start;
    rounds.push({ latency_ms, ahead_ms: rowsOf<{ now: number }>(answer)[0]!.now - (clock + latency_ms / 2) });
  }
  const fastest = rounds.toSorted((one, other) => one.latency_ms - other.latency_ms)[0]!;
  return { version: rowsOf<{ version: string }>(found)[0]!.version, ...fastest };
}
