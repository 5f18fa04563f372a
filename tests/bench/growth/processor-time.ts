import { readFileSync } from "node:fs";
import { setTimeout as pause } from "node:timers/promises";
import { rowsOf } from "@board/core/db/database";
import type { Db } from "@board/core/context/db";
import { sql } from "drizzle-orm";

const TICK_MS = 10;
const NS_PER_MS = 1e6;

/** Returns the milliseconds of processor time that a process has used, or null where the system does not report it. */
export function readProcessorTime(pid: number | null): number | null {
  if (pid === null) {
    const { user, system } = process.cpuUsage();
    return (user + system) / 1000;
  }
  try {
    const fields = readFileSync(`/proc/${pid}/stat`, "utf8").split(") ")[1]!.split(" ");
    return (Number(fields[11]) + Number(fields[12])) * TICK_MS;
  } catch {
    return null;
  }
}

/**
 * Returns the milliseconds of processor time that all connections to the database except this one have used, or NaN where the
 * system does not report it. Unlike the times in pg_stat_statements, it does not depend on what else runs on the machine.
 */
export async function readServerTime(db: Db): Promise<number> {
  const result = await db.execute(sql`select pid from pg_stat_activity
    where datname = current_database() and backend_type = 'client backend' and pid <> pg_backend_pid()`);
  try {
    const times = rowsOf<{ pid: number }>(result).map(({ pid }) =>
      Number(readFileSync(`/proc/${pid}/schedstat`, "utf8").split(" ")[0]),
    );
    return times.reduce((sum, time) => sum + time, 0) / NS_PER_MS;
  } catch {
    return Number.NaN;
  }
}

const POLL_MS = 250;

/**
 * Measures the milliseconds of processor time that the connections to the database use during some work. The times are read
 * repeatedly, because the time of a connection can no longer be read once it has ended.
 */
export async function measureServerTime<T>(db: Db, work: () => Promise<T>): Promise<{ result: T; database_ms: number }> {
  const begun = await readTimes(db);
  const last = new Map(begun);
  const read = async () => {
    for (const [pid, time] of await readTimes(db)) last.set(pid, time);
  };
  let isOver = false;
  const reading = (async () => {
    while (!isOver) {
      await pause(POLL_MS);
      await read();
    }
  })();
  const result = await work().finally(() => (isOver = true));
  await reading;
  await read();
  const used = [...last].reduce((sum, [pid, time]) => sum + time - (begun.get(pid) ?? 0), 0);
  return { result, database_ms: used / NS_PER_MS };
}

/** Returns the nanoseconds of processor time of each connection except this one, by process id. */
async function readTimes(db: Db): Promise<Map<number, number>> {
  const result = await db.execute(sql`select pid from pg_stat_activity
    where datname = current_database() and backend_type = 'client backend' and pid <> pg_backend_pid()`);
  return new Map(
    rowsOf<{ pid: number }>(result).flatMap(({ pid }): [number, number][] => {
      try {
        return [[pid, Number(readFileSync(`/proc/${pid}/schedstat`, "utf8").split(" ")[0])]];
      } catch {
        return [];
      }
    }),
  );
}
