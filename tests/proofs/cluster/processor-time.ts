/** The processor time of PostgreSQL, by the files of Linux; null on other systems. */
import { existsSync, readdirSync, readFileSync } from "node:fs";
import type { Db } from "@board/core/context/db";
import { rowsOf } from "@board/core/db/database";
import { sql } from "drizzle-orm";

/** Linux counts in hundredths of a second on all machines. */
const TICK_MS = 10;

interface Process {
  parent: number;
  /** The processor time of the process itself, and of its child processes that have ended. */
  own_ms: number;
  ended_ms: number;
}

function readProcess(pid: number | string): Process | null {
  try {
    // The name of the program is in brackets, and may contain spaces.
    const fields = readFileSync(`/proc/${pid}/stat`, "utf8").split(") ").at(-1)!.split(" ");
    const sum = (first: number) => (Number(fields[first]) + Number(fields[first + 1])) * TICK_MS;
    return { parent: Number(fields[1]), own_ms: sum(11), ended_ms: sum(13) };
  } catch {
    return null;
  }
}

/** Returns the milliseconds that the server and all its sessions have used, including sessions that have ended. */
export async function readDatabaseTime(db: Db): Promise<number | null> {
  if (!existsSync("/proc/self/stat")) return null;
  const [{ pid }] = rowsOf<{ pid: number }>(await db.execute(sql`select pg_backend_pid() as pid`)) as [{ pid: number }];
  const server = readProcess(pid)?.parent;
  if (server === undefined) return null;
  const { own_ms, ended_ms } = readProcess(server)!;
  const sessions = readdirSync("/proc")
    .filter((name) => /^\d+$/.test(name))
    .map(readProcess)
    .filter((process) => process?.parent === server);
  return sessions.reduce((total, process) => total + process!.own_ms, own_ms + ended_ms);
}
