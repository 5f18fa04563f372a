import { rowsOf } from "@board/core/db/database";
import { run_steps, runs, tasks } from "@board/core/schema/all-tables";
import { eq, sql } from "drizzle-orm";
import { type BenchEnvironment, CONNECTIONS } from "./environment.ts";
import { load } from "./load.ts";
import { rate, round, type Row } from "./row.ts";

const REQUESTS = 2_000;
const WARM_UP = 300;
/** How many runs of agents are left for measuring the floor and for counting statements. */
const SPARE = 4_000;
const BATCH = 50;

/** Measures how fast steps of coding agents are added in batches, and the disk space that they take. */
export async function benchSteps(place: BenchEnvironment): Promise<Row[]> {
  const { service, db, board, lead, count, compareToBaseline, compareToFloor } = place;
  const run_ids = await addRuns(place, WARM_UP + REQUESTS + SPARE);
  const headers = { "x-agent-token": lead.auth_token, "content-type": "application/json" };
  const body = JSON.stringify({ from: 0, steps: toSteps() });
  const pathOf = (run_id: string) => `/api/v1/agent/runs/${run_id}/steps`;
  const post = (ids: readonly string[]) =>
    load({
      url: service.url,
      method: "POST",
      connections: CONNECTIONS,
      requests: ids.length,
      nth: (n) => ({ path: pathOf(ids[n % ids.length]!), body, headers }),
    });
  await post(run_ids.slice(0, WARM_UP));
  const figures = await post(run_ids.slice(WARM_UP, WARM_UP + REQUESTS));
  const spare = run_ids.slice(WARM_UP + REQUESTS);
  const one = () => fetch(service.url + pathOf(spare.pop()!), { method: "POST", headers, body });
  const floor = await compareToFloor(figures, one, spare.slice(0, SPARE / 2));
  const statements = await count(one);
  const stored = await db.execute(sql`select sum(count)::int as steps, sum(body_bytes)::int as bytes,
    pg_total_relation_size('run_steps')::int as total from ${run_steps}`);
  const { steps, bytes, total } = rowsOf<{ steps: number; bytes: number; total: number }>(stored)[0]!;
  const perThousand = (size: number) => `${round((size * 1_000) / steps / 1_024)} KB`;
  await db.delete(tasks).where(eq(tasks.board_id, board.id));
  return [
    {
      what: `${BATCH} steps, ${Math.round(Buffer.byteLength(body) / 1_024)} KB a request`,
      figure: `${rate(figures)}, ${round(figures.per_second * BATCH)} steps/s`,
      target: "",
      ...compareToBaseline(figures),
      ...floor,
      statements,
    },
    {
      what: "storage of 1,000 steps, tables and indexes included",
      figure: perThousand(total),
      target: "",
      baseline: `as sent: ${round((Buffer.byteLength(body) * 1_000) / BATCH / 1_024)} KB; compressed: ${perThousand(bytes)}`,
      ratio: `${((Buffer.byteLength(body) * 1_000) / BATCH / ((total * 1_000) / steps)).toFixed(1)}x`,
      statements: "",
    },
  ];
}

/** Adds tasks that the lead works on, and returns the ids of their runs. */
export async function addRuns({ db, board, lead }: BenchEnvironment, total: number): Promise<string[]> {
  await db.execute(sql`insert into ${tasks} (board_id, title, status, assigned_agent_id)
    select ${board.id}, 'Task ' || n, 'in_progress', ${lead.id}::uuid from generate_series(1, ${total}::int) as n`);
  await db.execute(sql`vacuum analyze ${runs}`);
  return (await db.select({ id: runs.id }).from(runs).where(eq(runs.board_id, board.id))).map(({ id }) => id);
}

const FILES = ["src/app.ts", "src/shop/cart.ts", "src/shop/price.ts", "tests/cart.test.ts", "src/shop/tax.ts"];

/** Returns steps of a coding agent that thinks, reads, edits, runs tests and writes messages. */
const toSteps = () =>
  Array.from({ length: BATCH }, (_, n) => {
    const at = new Date(Date.UTC(2026, 10, 25, 8, 0, n)).toISOString();
    const path = FILES[n % FILES.length]!;
    const call = { at, kind: "tool_call", tool_call_id: `call_${(n * 7919).toString(36)}`, status: "completed" };
    if (n % 5 === 0)
      return { at, kind: "thought", text: `The total of line ${n} is rounded twice, so ${path} must change first.` };
    if (n % 5 === 1)
      return { ...call, title: `Read ${path}`, tool_kind: "read", locations: [{ path, line: n }], output: toCode(n) };
    if (n % 5 === 2)
      return { ...call, title: `Edit ${path}`, tool_kind: "edit", diff: { path, old: toCode(n), new: toCode(n + 1) } };
    if (n % 5 === 3)
      return { ...call, title: "npm test", tool_kind: "execute", output: `${n} passed, ${n % 3} failed in ${n * 13} ms` };
    return { at, kind: "message", text: `Step ${n}: the prices are now rounded once, in ${path}.` };
  });

const toCode = (n: number) =>
  Array.from({ length: 12 }, (_, line) => `  const value${line} = round(${n} * rate[${line}], ${(n * line) % 17});`).join("\n");
