import { rowsOf } from "@board/core/db/database";
import { sql } from "drizzle-orm";
import { afterAll, beforeAll, expect, test } from "vitest";
import { openServerWorld, type ServerWorld } from "../support/postgres-world.ts";
import { addRaceBoard, createMany, type RaceBoard } from "../support/task-races.ts";
import type { Tenant } from "../support/world.ts";

/** `TRIALS=1000 npm test -- tests/budget/races.test.ts` runs the test at full length. */
const TRIALS = Number(process.env["TRIALS"] ?? 12);
/** The number of trials that run at the same time, each on another board of the organization. */
const LANES = 4;
const AGENTS = 10;
/** The maximum number of times that a request is sent. */
const ATTEMPTS = 5;

let server: ServerWorld;
let home: Tenant;
let boards: RaceBoard[];

beforeAll(async () => {
  server = await openServerWorld({
    limits: { caller_running_requests: 0, organization_running_requests: 0, running_requests: 0 },
  });
  home = await server.world.tenant("home");
  boards = await Promise.all(createMany(LANES, () => addRaceBoard(server.world, home, AGENTS)));
});
afterAll(() => server?.close());

const owner = () => ({ token: home.owner.token });
/**
 * Sends a request, and sends it again after a 503, as clients do. A 503 means that nothing was done: on a busy machine there may
 * be no free database connection in time.
 */
async function ask(path: string, options: { agent: string; body: object; headers?: Record<string, string> }) {
  for (let attempt = 1; ; attempt++) {
    const answer = await server.world.call("POST", path, options);
    if (answer.status !== 503 || attempt === ATTEMPTS) return answer;
  }
}
const report = (agent: string, body: object) => ask("/api/v1/agent/usage", { agent, body });

async function createBudget(board: RaceBoard, fields: object): Promise<string> {
  const body = { scope: "board", scope_id: board.board_id, period: "total", ...fields };
  const made = await server.world.call("POST", "/api/v1/budgets", { ...owner(), body });
  expect([made.status, made.text]).toEqual([200, made.text]);
  return made.body.id;
}

const removeBudget = (id: string) => server.world.call("DELETE", `/api/v1/budgets/${id}`, owner());

/** What the ten agents of a trial saw. */
interface Trial {
  /** Whether a response has said that the budget is spent. */
  is_spent: boolean;
  late_tasks: number;
  late_writes: number;
  refused_reports: number;
  accepted_tokens: number;
}

/** Returns an unexpected answer together with the warnings and errors of the log, which have the reason. */
const whatHappened = (answer: string): string =>
  [
    answer,
    ...server.world.log.filter(({ level }) => level === "warn" || level === "error").map((line) => JSON.stringify(line)),
  ].join("\n");

/** Acts as an agent that takes tasks and reports usage until it gets no more tasks. Then it comments on its last tasks. */
async function loop(board: RaceBoard, agent: string, trial: Trial, mark: string): Promise<void> {
  const held: { id: string; fence: number }[] = [];
  for (let turn = 0; turn < 30; turn++) {
    const wasSpent = trial.is_spent;
    const taken = await ask("/api/v1/agent/tasks/next", { agent, body: { parallel: turn % 3 === 0 } });
    expect([taken.status, taken.status === 200 ? "" : whatHappened(taken.text)]).toEqual([200, ""]);
    if (taken.body.task === null) {
      if (wasSpent) break;
      continue;
    }
    if (wasSpent) trial.late_tasks++;
    held.push({ id: taken.body.task.id, fence: taken.body.lease.fence });
    const tokens = 10 + (turn % 7);
    const entries = [{ key: `${mark}-${turn}`, input_tokens: tokens, task_id: taken.body.task.id }];
    const [answer] = await Promise.all([report(agent, { entries }), turn % 4 === 0 ? report(agent, { entries }) : null]);
    if (answer.status === 200) trial.accepted_tokens += tokens;
    else trial.refused_reports++;
    if (answer.body.exhausted_budget_ids?.length > 0) trial.is_spent = true;
  }
  // After the stop the agent has lost all its leases, so each of these writes must be refused.
  for (const { id, fence } of held.slice(-3)) {
    const body = { content: "late" };
    const path = `/api/v1/agent/boards/${board.board_id}/tasks/${id}/comments`;
    const late = await ask(path, { agent, headers: { "x-task-fence": String(fence) }, body });
    if (late.status !== 409) trial.late_writes++;
  }
}

async function runTrial(board: RaceBoard, number: number): Promise<void> {
  await server.world.db.execute(sql`delete from tasks where board_id = ${board.board_id}`);
  await board.tasks(AGENTS * 3);
  const budget_id = await createBudget(board, { limit: { total_tokens: 200 + (number % 5) * 100 } });
  const trial: Trial = { is_spent: false, late_tasks: 0, late_writes: 0, refused_reports: 0, accepted_tokens: 0 };
  await Promise.all(board.workers.map(({ token }, index) => loop(board, token, trial, `${number}-${index}`)));
  const { spent, state, limit } = (await server.world.call("GET", `/api/v1/budgets/${budget_id}`, owner())).body;
  const left = await server.world.db.execute(sql`
    select (select count(*)::int from runs where board_id = ${board.board_id} and status = 'running') as running,
      (select coalesce(sum(input_tokens), 0)::int from usage_entries
        where board_id = ${board.board_id} and key like ${`${number}-%`}) as entries`);
  const { running, entries } = rowsOf<{ running: number; entries: number }>(left)[0]!;
  expect({ ...trial, state, running, entries, spent: spent.total_tokens }, `trial ${number}`).toEqual({
    is_spent: true,
    late_tasks: 0,
    late_writes: 0,
    refused_reports: 0,
    accepted_tokens: spent.total_tokens,
    state: "exhausted",
    running: 0,
    entries: spent.total_tokens,
    spent: spent.total_tokens,
  });
  expect(spent.total_tokens).toBeGreaterThanOrEqual(limit.total_tokens);
  await removeBudget(budget_id);
}

test(`in ${TRIALS} trials with ten agents in a loop, nobody gets a task or writes after the limit, and the amount spent equals the accepted entries`, {
  timeout: TRIALS * 20_000 + 60_000,
}, async () => {
  let next = 0;
  const lane = async (board: RaceBoard) => {
    while (next < TRIALS) await runTrial(board, next++);
  };
  await Promise.all(boards.map(lane));
  expect(next).toBeGreaterThanOrEqual(TRIALS);
});

test("agents whose runs stay within their reserves never spend more than the limit together", {
  timeout: 120_000,
}, async () => {
  const [board] = boards;
  await server.world.db.execute(sql`delete from tasks where board_id = ${board!.board_id}`);
  await board!.tasks(AGENTS * 3);
  const budget_id = await createBudget(board!, { limit: { cost_usd: "1" }, reserve: { cost_usd: "0.3" } });
  await Promise.all(
    board!.workers.map(async ({ token }, index) => {
      const taken = await server.world.call("POST", "/api/v1/agent/tasks/next", { agent: token, body: {} });
      if (!taken.body.task) return;
      await report(token, { entries: [{ key: `reserve-${index}`, cost_usd: "0.3", task_id: taken.body.task.id }] });
    }),
  );
  const { spent } = (await server.world.call("GET", `/api/v1/budgets/${budget_id}`, owner())).body;
  expect([spent.cost_usd, spent.runs]).toEqual(["0.9", 3]);
  await removeBudget(budget_id);
});

test("after the answer to a lowered limit, agents that ask in a loop get no task and write nothing, and no run continues", {
  timeout: 120_000,
}, async () => {
  const lower = async (board: RaceBoard, number: number) => {
    await server.world.db.execute(sql`delete from tasks where board_id = ${board.board_id}`);
    await board.tasks(AGENTS * 3);
    const budget_id = await createBudget(board, { limit: { total_tokens: 1_000_000 } });
    const trial: Trial = { is_spent: false, late_tasks: 0, late_writes: 0, refused_reports: 0, accepted_tokens: 0 };
    const loops = board.workers.map(({ token }, index) => loop(board, token, trial, `lowered-${number}-${index}`));
    const path = `/api/v1/budgets/${budget_id}`;
    const read = async () => (await server.world.call("GET", path, owner())).body;
    while ((await read()).spent.total_tokens === 0);
    for (let status = 503; status === 503; )
      ({ status } = await server.world.call("PATCH", path, { ...owner(), body: { limit: { total_tokens: 1 } } }));
    trial.is_spent = true;
    await Promise.all(loops);
    const found = await server.world.db.execute(
      sql`select count(*)::int as running from runs where board_id = ${board.board_id} and status = 'running'`,
    );
    const { spent, state } = await read();
    expect({ ...trial, ...rowsOf<{ running: number }>(found)[0], spent: spent.total_tokens, state }).toEqual({
      is_spent: true,
      late_tasks: 0,
      late_writes: 0,
      refused_reports: 0,
      accepted_tokens: spent.total_tokens,
      running: 0,
      spent: spent.total_tokens,
      state: "exhausted",
    });
    await removeBudget(budget_id);
  };
  for (let round = 0; round < 3; round++) await Promise.all(boards.map((board, lane) => lower(board, round * LANES + lane)));
});
