import type { Client } from "pg";
import { readProcessorTime } from "./processor-time.ts";

/** What one operation costs. */
export interface Cost {
  /** Execution and planning in PostgreSQL. */
  database_ms: number;
  /** Pages of 8 kB that PostgreSQL reads, whether cached or not. */
  buffers: number;
  /** Processor time of the service; null where the system does not report it. */
  service_ms: number | null;
  /** The cost of each statement, from the round that read the fewest pages. */
  statements: readonly StatementCost[];
}

interface StatementCost {
  text: string;
  ms: number;
  buffers: number;
}

/** The cheapest of several rounds counts, because other load on the machine can only add to the cost. */
const ROUNDS = 3;
/** Smaller differences are noise. */
const MIN_PAGES = 1;
const MIN_MS = 0.05;
const LINE = 240;

export interface Measured {
  /** Operations of a round. */
  count: number;
  run: (count: number) => Promise<unknown>;
  /** Runs after the operations of a round, before the costs are read. */
  settle?: () => Promise<unknown>;
  /** Runs before each round, without being measured. */
  prepare?: () => Promise<unknown>;
  /** The process that does the work; null when this process does it with the role of `client`. */
  pid: number | null;
  /** The name of the role whose statements count. */
  role: string;
}

/** Statements with fewer calls per repetition do not count: they belong to schedules of the service, which use the same role. */
const MIN_SHARE = 0.5;

export async function measure(client: Client, { count, run, settle, prepare, pid, role }: Measured): Promise<Cost> {
  await prepare?.();
  await run(Math.ceil(count / 2));
  await settle?.();
  const rounds: Cost[] = [];
  for (let round = 0; round < ROUNDS; round++) {
    await prepare?.();
    await client.query("select pg_stat_statements_reset()");
    const before = readProcessorTime(pid);
    await run(count);
    const after = readProcessorTime(pid);
    await settle?.();
    const { rows: statements } = await client.query<StatementCost>(
      `select query as text, (sum(total_exec_time + total_plan_time) / $3)::float8 as ms,
        (sum(shared_blks_hit + shared_blks_read) / $3)::float8 as buffers
        from pg_stat_statements where dbid = (select oid from pg_database where datname = current_database())
        and userid = $1::regrole and calls >= $2 group by query`,
      [role, pid === null ? 1 : count * MIN_SHARE, count],
    );
    const sum = (of: (cost: StatementCost) => number) => statements.reduce((total, cost) => total + of(cost), 0);
    const service_ms = before === null || after === null ? null : (after - before) / count;
    rounds.push({ database_ms: sum(({ ms }) => ms), buffers: sum(({ buffers }) => buffers), service_ms, statements });
  }
  const least = (of: (cost: Cost) => number) => Math.min(...rounds.map(of));
  return {
    database_ms: least(({ database_ms }) => database_ms),
    buffers: least(({ buffers }) => buffers),
    service_ms: rounds[0]!.service_ms === null ? null : least(({ service_ms }) => service_ms!),
    statements: rounds.reduce((best, round) => (round.buffers < best.buffers ? round : best)).statements,
  };
}

/** Lists the statements whose cost differs most between two sizes, with one line for each. */
export function listGrowing(first: Cost, last: Cost): string[] {
  const texts = new Set([...first.statements, ...last.statements].map(({ text }) => text));
  const growth = [...texts].map((text) => {
    const of = ({ statements }: Cost) => statements.find((cost) => cost.text === text) ?? { ms: 0, buffers: 0 };
    const [before, after] = [of(first), of(last)];
    return { text, before, after, pages: after.buffers - before.buffers, ms: after.ms - before.ms };
  });
  return growth
    .filter(({ pages, ms }) => pages >= MIN_PAGES || ms >= MIN_MS)
    .sort((a, b) => b.pages - a.pages)
    .map(
      ({ text, before, after }) =>
        `${before.buffers.toFixed(1)} to ${after.buffers.toFixed(1)} pages, ${before.ms.toFixed(3)} to ${after.ms.toFixed(3)} ms: ` +
        text.replace(/\s+/g, " ").slice(0, LINE),
    );
}
