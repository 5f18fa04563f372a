import { runs } from "@board/core/schema/all-tables";
import { eq } from "drizzle-orm";
import { expect, test } from "vitest";
import { renew, setupWorld } from "../support/fixtures.ts";
import { startRun } from "../support/run.ts";

const world = await setupWorld();
const home = renew((n) => world.tenant(`tenant-${n}`));
const run = renew(() => startRun(world, home));

const owner = () => ({ token: home.owner.token });
const read = async (path: string) => (await world.call("GET", path, owner())).body;
const readRun = () => read(`/api/v1/boards/${home.board_id}/runs/${run.run_id}`);
const post = (from: number, steps: object[], agent = home.worker.token) =>
  world.call("POST", `/api/v1/agent/runs/${run.run_id}/steps`, { agent, body: { from, steps } });
const report = (entry: object) =>
  world.call("POST", "/api/v1/agent/usage", { agent: home.worker.token, body: { entries: [entry] } });
const totalTokens = async () => (await read("/api/v1/metrics/usage?group_by=agent")).total.work.total_tokens;

const SAY = { kind: "message", text: "Hello" };
const USED = { kind: "usage", key: "turn-1", model: "opus", input_tokens: 100, output_tokens: 20, cost_usd: "0.5" };

test("a step with usage counts for its run, its task and the figures, and is stored like any other", async () => {
  expect((await post(0, [SAY, USED, { kind: "usage", input_tokens: 5 }])).body).toEqual({ next: 3, full: false });
  const { usage, steps } = await readRun();
  expect(usage).toMatchObject({ input_tokens: 105, output_tokens: 20, cost_usd: "0.5", turns: 2, models: [{ model: "opus" }] });
  expect(steps).toBe(3);
  expect((await read(`/api/v1/boards/${home.board_id}/tasks/${run.task_id}`)).usage).toMatchObject({ total_tokens: 125 });
  expect(await totalTokens()).toBe(125);
});

test("a repeated batch of steps, one that overlaps and a report with the same key count no usage twice", async () => {
  const steps = [USED, { kind: "usage", input_tokens: 7 }];
  await post(0, steps);
  expect((await post(0, steps)).body.next).toBe(2);
  expect((await post(1, [steps[1]!, SAY])).body.next).toBe(3);
  const { kind: _kind, ...entry } = USED;
  expect((await report({ ...entry, run_id: run.run_id })).body).toMatchObject({ accepted: 0, repeated: 1 });
  expect(await totalTokens()).toBe(127);
});

test("equal batches of steps at the same time are counted once", async () => {
  const answers = await Promise.all(Array.from({ length: 6 }, () => post(0, [SAY, USED, { kind: "usage", output_tokens: 1 }])));
  expect(answers.map(({ status, body }) => [status, body.next])).toEqual(answers.map(() => [200, 3]));
  expect(await totalTokens()).toBe(121);
});

test("a batch of steps that is refused counts no usage", async () => {
  expect((await post(4, [USED])).body.detail).toMatchObject({ next: 0 });
  expect((await post(0, [USED], home.lead.token)).status).toBe(404);
  expect((await post(0, [{ ...USED, cost_usd: "-1" }])).status).toBe(422);
  expect((await post(0, [{ ...USED, input_tokens: 1e12 }])).status).toBe(422);
  expect((await readRun()).usage).toMatchObject({ input_tokens: 0, turns: 0 });
});

test("a full run drops a step but counts its usage", async () => {
  await world.db.update(runs).set({ steps: 100_001, steps_full: true }).where(eq(runs.id, run.run_id));
  expect((await post(100_001, [USED])).body).toEqual({ next: 100_001, full: true });
  expect((await readRun()).usage.input_tokens).toBe(100);
});

test("a step counts on its own day, and a step from long ago on the oldest day that still accepts usage", async () => {
  const daysAgo = (days: number) => new Date(world.now().getTime() - days * 86_400_000).toISOString();
  const steps = [
    { ...USED, at: daysAgo(2) },
    { ...USED, key: "turn-2", at: daysAgo(30) },
  ];
  expect((await post(0, steps)).status).toBe(200);
  const { rows } = await read("/api/v1/metrics/usage?group_by=day&range_key=1m");
  const used = rows.filter((row: { work: { entries: number } }) => row.work.entries > 0);
  expect(used.map(({ key }: { key: string }) => key)).toEqual([daysAgo(7).slice(0, 10), daysAgo(2).slice(0, 10)]);
});

test("a budget that a step reaches stops the run, stores the step, and refuses the agent's next writes", async () => {
  const body = { scope: "task", scope_id: run.task_id, limit: { cost_usd: "0.4" }, period: "total" };
  const budget = (await world.call("POST", "/api/v1/budgets", { ...owner(), body })).body;
  expect((await post(0, [SAY, USED])).body).toEqual({ next: 2, full: false });
  expect(await readRun()).toMatchObject({ status: "stopped", ended_reason: "The budget is spent.", steps: 2 });
  expect((await read(`/api/v1/budgets/${budget.id}`)).spent.cost_usd).toBe("0.5");
  const next = await world.call("POST", "/api/v1/agent/tasks/next", { agent: home.worker.token, body: {} });
  expect(next.body).toMatchObject({ task: null, reason: "budget_exhausted", budget_ids: [budget.id] });
  expect((await post(2, [SAY, { ...USED, key: "late" }])).body.next).toBe(4);
  expect((await read(`/api/v1/budgets/${budget.id}`)).spent.cost_usd).toBe("1");
});

test("steps without usage cost one statement in addition to the authentication", async () => {
  world.statements.length = 0;
  await post(0, [SAY]);
  expect(world.statements).toHaveLength(2);
});

test("a day after the end of the run, steps are refused and their usage is not counted", async () => {
  await world.call("POST", `/api/v1/boards/${home.board_id}/runs/${run.run_id}/stop`, { ...owner(), body: {} });
  world.elapse(86_400_000 + 60_000);
  expect((await post(0, [USED])).body.detail.code).toBe("run_closed");
  expect((await readRun()).usage).toMatchObject({ input_tokens: 0, turns: 0 });
});
