import { expect, test } from "vitest";
import { renew, setupWorld } from "../support/fixtures.ts";
import { addTask } from "../support/task.ts";

const world = await setupWorld();

const home = renew((n) => world.tenant(`tenant-${n}`));

const owner = () => ({ token: home.owner.token });
const create = async (body: object) => (await world.call("POST", "/api/v1/budgets", { ...owner(), body })).body;
const next = (body = {}, agent = home.worker.token) => world.call("POST", "/api/v1/agent/tasks/next", { agent, body });
const report = (entry: object, agent = home.worker.token) =>
  world.call("POST", "/api/v1/agent/usage", { agent, body: { entries: [{ key: crypto.randomUUID(), ...entry }] } });
const taskPath = (id: string) => `/api/v1/agent/boards/${home.board_id}/tasks/${id}`;

test("the operation next sends one more SQL statement if the organization has budgets, and none if it has no budget", async () => {
  const count = async () => {
    await addTask(world, home);
    world.statements.length = 0;
    const answer = await next({ parallel: true });
    expect(answer.body.task).not.toBeNull();
    return world.statements.length;
  };
  await count();
  const before = await count();
  expect(world.statements.filter((text) => text.includes("begin_run_in_budgets"))).toEqual([]);
  await create({ scope: "organization", limit: { total_tokens: 1000 } });
  await create({ scope: "board", scope_id: home.board_id, limit: { total_tokens: 1000 } });
  expect(await count()).toBe(before + 1);
});

test("while a budget is spent, the operation next gives no task and a lease is refused, until the budget is raised", async () => {
  const task = await addTask(world, home);
  const budget = await create({ scope: "organization", limit: { total_tokens: 100 }, period: "total" });
  await report({ input_tokens: 100 });
  expect((await next()).body).toMatchObject({
    task: null,
    lease: null,
    reason: "budget_exhausted",
    budget_ids: [budget.id],
    retry_after_seconds: 3600,
  });
  const lease = await world.call("PUT", `${taskPath(task.id)}/lease`, { agent: home.worker.token, body: {} });
  expect([lease.status, lease.body.detail?.code ?? lease.body.code]).toEqual([409, "budget_exhausted"]);
  const move = await world.call("PATCH", taskPath(task.id), { agent: home.worker.token, body: { status: "in_progress" } });
  expect(move.status).toBe(409);
  await world.call("PATCH", `/api/v1/budgets/${budget.id}`, { ...owner(), body: { limit: { total_tokens: 200 } } });
  expect((await next()).body.task.id).toBe(task.id);
});

test("when a budget is spent, the answer of next names the seconds until the budget resets, or an hour if that is sooner", async () => {
  await addTask(world, home);
  await create({ scope: "agent", scope_id: home.worker.id, limit: { total_tokens: 100 }, period: "day" });
  await report({ input_tokens: 100 });
  const midnight = Math.ceil((86_400_000 - (world.now().getTime() % 86_400_000)) / 1000);
  const { retry_after_seconds } = (await next()).body;
  expect(Math.abs(retry_after_seconds - Math.min(3600, midnight))).toBeLessThanOrEqual(5);
  world.elapse(86_400_000);
  expect((await next()).body.task).not.toBeNull();
});

test("a budget that only warns does not refuse work", async () => {
  await addTask(world, home);
  await create({ scope: "organization", limit: { total_tokens: 10 }, on_limit: "warn" });
  await report({ input_tokens: 100 });
  expect((await next()).body.task).not.toBeNull();
});

test("the operation next skips a task whose budget is spent and gives another task", async () => {
  const [spent, free] = [await addTask(world, home, { priority: "high" }), await addTask(world, home)];
  const budget = await create({ scope: "task", scope_id: spent.id, limit: { cost_usd: "1" }, period: "total" });
  await report({ task_id: spent.id, cost_usd: "1" });
  expect((await next()).body.task.id).toBe(free.id);
  expect((await next({ parallel: true })).body).toMatchObject({
    task: null,
    reason: "budget_exhausted",
    budget_ids: [budget.id],
  });
});

test("the reserve of running runs is set aside, so that agents together do not begin more than the limit allows", async () => {
  for (let time = 0; time < 3; time++) await addTask(world, home);
  const budget = await create({
    scope: "board",
    scope_id: home.board_id,
    limit: { cost_usd: "10" },
    reserve: { cost_usd: "4" },
  });
  for (let time = 0; time < 2; time++) expect((await next({ parallel: true })).body.task).not.toBeNull();
  const read = async () => (await world.call("GET", `/api/v1/budgets/${budget.id}`, owner())).body;
  expect((await read()).reserved).toEqual({ cost_usd: "8", total_tokens: 0 });
  expect((await next({ parallel: true })).body.reason).toBe("budget_exhausted");
  await world.call("PATCH", `/api/v1/budgets/${budget.id}`, { ...owner(), body: { limit: { cost_usd: "12" } } });
  expect((await next({ parallel: true })).body.task).not.toBeNull();
  expect((await read()).spent.runs).toBe(3);
});

test("a run's spending reduces its reserve", async () => {
  for (let time = 0; time < 2; time++) await addTask(world, home);
  const budget = await create({ scope: "board", scope_id: home.board_id, limit: { cost_usd: "10" }, reserve: { cost_usd: "5" } });
  const { task } = (await next()).body;
  await report({ task_id: task.id, cost_usd: "3" });
  const { reserved, spent } = (await world.call("GET", `/api/v1/budgets/${budget.id}`, owner())).body;
  expect([reserved.cost_usd, spent.cost_usd]).toEqual(["2", "3"]);
  expect((await next({ parallel: true })).body.task).not.toBeNull();
});

test("as many runs begin as the limit allows, and a task that is handed out again is not a new run", async () => {
  for (let time = 0; time < 3; time++) await addTask(world, home);
  const budget = await create({ scope: "board", scope_id: home.board_id, limit: { runs: 2 } });
  const first = (await next()).body.task.id;
  expect((await next()).body.task.id).toBe(first);
  expect((await next({ parallel: true })).body.task).not.toBeNull();
  expect((await next({ parallel: true })).body).toMatchObject({ task: null, reason: "budget_exhausted" });
  expect((await next()).body.task.id).toBe(first);
  const { spent, state } = (await world.call("GET", `/api/v1/budgets/${budget.id}`, owner())).body;
  expect([spent.runs, state]).toEqual([2, "exhausted"]);
});

test("at the limit all runs under the budget are stopped in the same transaction, and their agents can write no more", async () => {
  const [mine, other] = [await addTask(world, home), await addTask(world, home)];
  const budget = await create({ scope: "board", scope_id: home.board_id, limit: { total_tokens: 100 }, period: "total" });
  const held = (await next()).body;
  const second = (await next({ parallel: true })).body;
  expect(new Set([held.task.id, second.task.id])).toEqual(new Set([mine.id, other.id]));
  const answer = await report({ task_id: held.task.id, input_tokens: 150 });
  expect(answer.body).toMatchObject({ accepted: 1, exhausted_budget_ids: [budget.id] });
  for (const { task, lease } of [held, second]) {
    const read = await world.call("GET", `/api/v1/boards/${home.board_id}/tasks/${task.id}`, owner());
    expect(read.body).toMatchObject({ status: "inbox", lease: null, run: { status: "stopped" } });
    const write = await world.call("POST", `${taskPath(task.id)}/comments`, {
      agent: home.worker.token,
      headers: { "x-task-fence": String(lease.fence) },
      body: { content: "late" },
    });
    expect([write.status, write.text]).toEqual([409, expect.stringContaining("task_lease_lost")]);
  }
  expect((await report({ task_id: held.task.id, input_tokens: 7 })).body.accepted).toBe(1);
  expect((await world.call("GET", `/api/v1/budgets/${budget.id}`, owner())).body.spent.total_tokens).toBe(157);
});

test("the inbox counts only tasks for which budgets have room, without a further statement", async () => {
  const inbox = async () => (await world.call("GET", "/api/v1/agent/inbox", { agent: home.worker.token })).body;
  const [spent] = [await addTask(world, home), await addTask(world, home)];
  const own = await addTask(world, home, { assigned_agent_id: home.worker.id });
  expect((await inbox()).counts).toMatchObject({ free: 2, mine: 1 });
  await create({ scope: "task", scope_id: spent.id, limit: { cost_usd: "1" }, period: "total" });
  await report({ task_id: spent.id, cost_usd: "1" });
  expect((await inbox()).counts).toMatchObject({ free: 1, mine: 1 });
  const budget = await create({ scope: "agent", scope_id: home.worker.id, limit: { runs: 1 }, period: "day" });
  expect((await next()).body.task.id).toBe(own.id);
  world.statements.length = 0;
  expect(await inbox()).toMatchObject({ has_work: true, counts: { free: 0, mine: 1 }, tasks: [{ id: own.id }] });
  expect(world.statements.filter((text) => text.includes("budget"))).toHaveLength(2);
  const path = `/api/v1/boards/${home.board_id}/tasks/${own.id}`;
  expect((await world.call("PATCH", path, { ...owner(), body: { status: "blocked" } })).status).toBe(200);
  expect((await inbox()).counts).toMatchObject({ free: 0, mine: 0 });
  await world.call("PATCH", `/api/v1/budgets/${budget.id}`, { ...owner(), body: { limit: { runs: 2 } } });
  expect(await inbox()).toMatchObject({ has_work: true, counts: { free: 1 } });
});

test("a limit lowered to what was spent stops the runs under it at once, and leaves no work in the inbox", async () => {
  const inbox = async () => (await world.call("GET", "/api/v1/agent/inbox", { agent: home.worker.token })).body;
  const task = await addTask(world, home);
  const budget = await create({ scope: "task", scope_id: task.id, limit: { total_tokens: 100 }, period: "total" });
  const { lease } = (await next()).body;
  await report({ task_id: task.id, input_tokens: 60 });
  const lower = { ...owner(), body: { limit: { total_tokens: 50 } } };
  expect((await world.call("PATCH", `/api/v1/budgets/${budget.id}`, lower)).body).toMatchObject({ state: "exhausted" });
  const read = await world.call("GET", `/api/v1/boards/${home.board_id}/tasks/${task.id}`, owner());
  expect(read.body).toMatchObject({ status: "inbox", lease: null, run: { status: "stopped" } });
  const body = { content: "late" };
  const headers = { "x-task-fence": String(lease.fence) };
  const write = await world.call("POST", `${taskPath(task.id)}/comments`, { agent: home.worker.token, headers, body });
  expect([write.status, write.text]).toEqual([409, expect.stringContaining("task_lease_lost")]);
  expect((await next()).body).toMatchObject({ task: null, budget_ids: [budget.id] });
  expect((await inbox()).counts).toMatchObject({ free: 0, mine: 0 });
});

test("a spent budget that is changed from warning to stopping stops the runs under it", async () => {
  const task = await addTask(world, home);
  const budget = await create({ scope: "board", scope_id: home.board_id, limit: { cost_usd: "1" }, on_limit: "warn" });
  expect((await next()).body.task.id).toBe(task.id);
  await report({ task_id: task.id, cost_usd: "2" });
  const status = async () =>
    (await world.call("GET", `/api/v1/boards/${home.board_id}/tasks/${task.id}`, owner())).body.run.status;
  expect(await status()).toBe("running");
  await world.call("PATCH", `/api/v1/budgets/${budget.id}`, { ...owner(), body: { on_limit: "stop" } });
  expect(await status()).toBe("stopped");
});

test("a new budget with a limit of zero stops the runs under it", async () => {
  const task = await addTask(world, home);
  expect((await next()).body.task.id).toBe(task.id);
  await create({ scope: "agent", scope_id: home.worker.id, limit: { cost_usd: "0" } });
  const read = await world.call("GET", `/api/v1/boards/${home.board_id}/tasks/${task.id}`, owner());
  expect(read.body).toMatchObject({ status: "inbox", run: { status: "stopped" } });
});

test("a lowered limit of runs stops no run", async () => {
  const task = await addTask(world, home);
  const budget = await create({ scope: "board", scope_id: home.board_id, limit: { runs: 2 } });
  await next();
  const lower = { ...owner(), body: { limit: { runs: 1 } } };
  expect((await world.call("PATCH", `/api/v1/budgets/${budget.id}`, lower)).body.state).toBe("exhausted");
  const read = await world.call("GET", `/api/v1/boards/${home.board_id}/tasks/${task.id}`, owner());
  expect(read.body).toMatchObject({ status: "in_progress", run: { status: "running" } });
});

test("a task whose own budget has no room for the reserve of a run does not count as work", async () => {
  const inbox = async () => (await world.call("GET", "/api/v1/agent/inbox", { agent: home.worker.token })).body;
  const task = await addTask(world, home);
  const place = { scope: "task", scope_id: task.id, period: "total" };
  const budget = await create({ ...place, limit: { cost_usd: "10" }, reserve: { cost_usd: "3" } });
  await report({ task_id: task.id, cost_usd: "6" });
  expect((await inbox()).counts).toMatchObject({ free: 1 });
  await report({ task_id: task.id, cost_usd: "2" });
  expect((await next()).body).toMatchObject({ task: null, budget_ids: [budget.id] });
  expect(await inbox()).toMatchObject({ has_work: false, counts: { free: 0 } });
});
