import { readFileSync } from "node:fs";
import type { Client } from "pg";

/** What one operation costs. */
export interface Cost {
  /** Execution and planning in PostgreSQL. */
  database_ms: number;
  /** Pages of 8 kB that PostgreSQL reads, whether cached or not. */
  buffers: number;
  /** Processor time of the service; null where the system does not tell. */
  service_ms: number | null;
}

/** The least of several rounds: what else runs on the machine only adds. */
const ROUNDS = 3;
const TICK_MS = 10;

export interface Measured {
  /** Operations of a round. */
  count: number;
  run: (count: number) => Promise<unknown>;
  /** Runs after the operations of a round, before the costs are read. */
  settle?: () => Promise<unknown>;
  /** Runs before each round, without being measured. */
  prepare?: () => Promise<unknown>;
  /** The process that does the work; without it, this process does as the role of `client`. */
  pid: number | null;
  /** The name of the role whose statements count. */
  role: string;
}

/** Statements of the same role with few calls belong to schedules of the service. */
const MIN_SHARE = 0.5;

export async function measure(client: Client, { count, run, settle, prepare, pid, role }: Measured): Promise<Cost> {
  await prepare?.();
  await run(Math.ceil(count / 2));
  await settle?.();
  const rounds: Cost[] = [];
  for (let round = 0; round < ROUNDS; round++) {
    await prepare?.();
    await client.query("select pg_stat_statements_reset()");
    const before = processorTime(pid);
    await run(count);
    const after = processorTime(pid);
    await settle?.();
    const { rows } = await client.query<{ ms: number; buffers: number }>(
      `select coalesce(sum(total_exec_time + total_plan_time), 0)::float8 as ms,
        coalesce(sum(shared_blks_hit + shared_blks_read), 0)::float8 as buffers
        from pg_stat_statements where dbid = (select oid from pg_database where datname = current_database())
        and userid = $1::regrole and calls >= $2`,
      [role, pid === null ? 1 : count * MIN_SHARE],
    );
    const service_ms = before === null || after === null ? null : (after - before) / count;
    rounds.push({ database_ms: rows[0]!.ms / count, buffers: rows[0]!.buffers / count, service_ms });
  }
  const least = (of: (cost: Cost) => number) => Math.min(...rounds.map(of));
  return {
    database_ms: least(({ database_ms }) => database_ms),
    buffers: least(({ buffers }) => buffers),
    service_ms: rounds[0]!.service_ms === null ? null : least(({ service_ms }) => service_ms!),
  };
}

/** Milliseconds of processor time that a process has used. */
function processorTime(pid: number | null): number | null {
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
