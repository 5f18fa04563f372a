import { rowsOf } from "@board/core/db/database";
import { agents, tasks } from "@board/core/schema/all-tables";
import { eq, sql } from "drizzle-orm";
import type { BenchEnvironment } from "./environment.ts";
import { measureServerTime } from "./growth/processor-time.ts";
import type { Figures } from "./load.ts";
import { addWorkers, CALLERS, fill } from "./next.ts";
import { percentilesOf } from "./resource-usage.ts";
import { rate, round, type Row } from "./row.ts";

/** Rounds with and without budgets alternate, so that other work on the machine affects both alike. */
const ROUNDS = 5;
const TURNS = 120;
const TURNS_ALONE = 60;
const WARM_UP = 30;

/**
 * Measures what budgets add to the cost of taking a task. Each agent submits its task before it takes another, so that it has one
 * run at a time.
 */
export async function benchBudgets(place: BenchEnvironment): Promise<Row[]> {
  const { api, db, board } = place;
  const tokens = await addWorkers(place);
  await fill(place);
  const measured = { free: [] as Turns[], freeAlone: [] as Turns[], limited: [] as Turns[], limitedAlone: [] as Turns[] };
  const added: number[] = [];
  let statements = "";
  await runTurns(place, tokens, WARM_UP);
  for (let n = 0; n < ROUNDS; n++) {
    measured.free.push(await measureTurns(place, tokens, TURNS));
    measured.freeAlone.push(await measureTurns(place, tokens.slice(0, 1), TURNS_ALONE));
    const budget_ids = await addBudgets(place);
    await runTurns(place, tokens, WARM_UP);
    measured.limited.push(await measureTurns(place, tokens, TURNS));
    measured.limitedAlone.push(await measureTurns(place, tokens.slice(0, 1), TURNS_ALONE));
    added.push(await measureStatement(place));
    if (n === ROUNDS - 1) statements = await place.count((nth) => takeTask(place, tokens[nth]!));
    for (const id of budget_ids) await api("DELETE", `/api/v1/budgets/${id}`);
    await runTurns(place, tokens, WARM_UP);
  }
  await db.delete(tasks).where(eq(tasks.board_id, board.id));
  await db.delete(agents).where(sql`${agents.name} like 'Taker %'`);
  const toRow = (who: string, target: string, without: readonly Turns[], under: readonly Turns[]): Row => {
    const [free, limited] = [medianOf(without), medianOf(under)];
    return {
      what: `take a task under three budgets with reserves, and submit it, ${who}, medians of ${ROUNDS} alternating rounds`,
      figure: `${rate(limited.figures)}; PostgreSQL ${round(limited.database_ms)} ms`,
      target,
      baseline: `without budgets ${rate(free.figures)}; PostgreSQL ${round(free.database_ms)} ms`,
      ratio: `${(limited.figures.per_second / free.figures.per_second).toFixed(2)}x`,
      statements,
    };
  };
  return [
    {
      what: "the statement that taking a task adds under three budgets with reserves",
      figure: `PostgreSQL ${round(percentilesOf(added).p50)} ms`,
      target: "PostgreSQL 0.3 ms",
      baseline: "none without budgets",
      ratio: "",
      statements: "1",
    },
    toRow("one agent", "", measured.freeAlone, measured.limitedAlone),
    toRow(`${CALLERS} agents at once`, "", measured.free, measured.limited),
  ];
}

const REPEATS = 200;

/** Returns the median time of the statement that counts a run toward its budgets, in milliseconds, as PostgreSQL measures it. */
async function measureStatement({ db, board }: BenchEnvironment): Promise<number> {
  const times: number[] = [];
  for (let n = 0; n < REPEATS; n++) {
    const plan = await db.execute(sql`explain (analyze, format json)
      select begin_run_in_budgets(board.organization_id, board.id, task.assigned_agent_id, task.id, now())
      from (select id, organization_id from boards where id = ${board.id}) as board,
        (select id, assigned_agent_id from tasks where board_id = ${board.id} and assigned_agent_id is not null limit 1) as task`);
    const [row] = rowsOf<{ "QUERY PLAN": [{ "Execution Time": number }] }>(plan);
    times.push(row!["QUERY PLAN"][0]["Execution Time"]);
  }
  return percentilesOf(times).p50;
}

/** Returns the round with the median of PostgreSQL's processor time. */
const medianOf = (rounds: readonly Turns[]): Turns =>
  rounds.toSorted((a, b) => a.database_ms - b.database_ms)[Math.floor(rounds.length / 2)]!;

interface Turns {
  figures: Pick<Figures, "per_second" | "p99_ms" | "failed">;
  /** Processor time of PostgreSQL for a task that is taken and submitted. */
  database_ms: number;
}

async function measureTurns(place: BenchEnvironment, tokens: readonly string[], turns: number): Promise<Turns> {
  const { result, database_ms } = await measureServerTime(place.db, () => runTurns(place, tokens, turns));
  return { figures: result, database_ms: database_ms / turns };
}

/** Takes and submits tasks. The percentile is of the requests that take a task; the rate covers both requests. */
async function runTurns(place: BenchEnvironment, tokens: readonly string[], turns: number): Promise<Turns["figures"]> {
  const { service, board } = place;
  const times: number[] = [];
  let begun = 0;
  let failed = 0;
  const work = async (token: string) => {
    while (begun++ < turns) {
      const start = performance.now();
      const task_id = await takeTask(place, token);
      times.push(performance.now() - start);
      const path = `/api/v1/agent/boards/${board.id}/tasks/${task_id}`;
      const body = JSON.stringify({ status: "review", comment: "Done" });
      const answer = await fetch(service.url + path, { method: "PATCH", headers: headersOf(token), body });
      await answer.arrayBuffer();
      if (!answer.ok) failed += 1;
    }
  };
  const start = performance.now();
  await Promise.all(tokens.map(work));
  return { per_second: (turns * 1_000) / (performance.now() - start), p99_ms: percentilesOf(times).p99, failed };
}

const headersOf = (token: string) => ({ "x-agent-token": token, "content-type": "application/json" });

async function takeTask({ service }: BenchEnvironment, token: string): Promise<string | undefined> {
  const path = `${service.url}/api/v1/agent/tasks/next`;
  const answer = await fetch(path, { method: "POST", headers: headersOf(token), body: "{}" });
  return ((await answer.json()) as { task?: { id: string } }).task?.id;
}

/**
 * Adds budgets of the organization, of the board and of each agent. Three of them apply to each run. Their limits are so high
 * that the runs do not use them up.
 */
async function addBudgets({ api, db, board }: BenchEnvironment): Promise<string[]> {
  const takers = await db.select({ id: agents.id }).from(agents).where(sql`${agents.name} like 'Taker %'`);
  const limits = { period: "month", limit: { cost_usd: "1000000" }, reserve: { cost_usd: "1.50" } };
  const scopes = [
    { scope: "organization" },
    { scope: "board", scope_id: board.id },
    ...takers.map(({ id }) => ({ scope: "agent", scope_id: id })),
  ];
  const ids: string[] = [];
  for (const scope of scopes) ids.push((await api("POST", "/api/v1/budgets", { ...scope, ...limits })).id);
  return ids;
}
