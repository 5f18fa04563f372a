import { scheduled } from "@board/api/work/schedules";
import { runs, tasks } from "@board/core/schema/all-tables";
import { asc, eq, sql } from "drizzle-orm";
import { expect, test } from "vitest";
import { addTask } from "../support/task.ts";
import { agentTaskPath, createTeam, taskPath } from "../support/task-rules.ts";
import { renew, setupWorld } from "../support/fixtures.ts";

let teams = 0;

const world = await setupWorld();

const team = renew(() => createTeam(world, `run-${++teams}`));

const MINUTE = 60_000;
const next = (agent = team.worker.token, body: object = {}) => world.call("POST", "/api/v1/agent/tasks/next", { agent, body });
const take = (id: string, agent = team.worker.token) =>
  world.call("PUT", `${agentTaskPath(team, id)}/lease`, { agent, body: {} });
const giveBack = (id: string, agent = team.worker.token) => world.call("DELETE", `${agentTaskPath(team, id)}/lease`, { agent });
const patch = (id: string, body: object, agent = team.worker.token) =>
  world.call("PATCH", agentTaskPath(team, id), { agent, body });
const patchAsOwner = (id: string, body: object) => world.call("PATCH", taskPath(team, id), { token: team.owner.token, body });
const read = async (id: string) => (await world.call("GET", taskPath(team, id), { token: team.owner.token })).body;
const storedRuns = (task_id: string) =>
  world.db.select().from(runs).where(eq(runs.task_id, task_id)).orderBy(asc(runs.started_at), asc(runs.created_at));

test("the operation next begins a run, which the task and the lease name", async () => {
  const { id } = await addTask(world, team);
  expect(await read(id)).toMatchObject({ run: null, usage: { total_tokens: 0, cost_usd: null, runs: 0 } });
  const { body } = await next();
  const [run] = await storedRuns(id);
  expect(run).toMatchObject({
    status: "running",
    agent_id: team.worker.id,
    board_id: team.board_id,
    fence: body.lease.fence,
    ended_at: null,
  });
  const shown = {
    id: run!.id,
    status: "running",
    agent_id: team.worker.id,
    started_at: run!.started_at.toISOString(),
    ended_at: null,
  };
  expect(body.task).toMatchObject({ run: shown, usage: { runs: 1 } });
  expect((await read(id)).run).toEqual(shown);
});

test("a holder that takes its lease again continues the same run with the new fence", async () => {
  const { id } = await addTask(world, team);
  await next();
  await next();
  expect((await take(id)).body.fence).toBe(2);
  expect(await storedRuns(id)).toMatchObject([{ status: "running", fence: 2 }]);
});

test.each([
  ["review", "submitted", null],
  ["done", "submitted", null],
  ["blocked", "blocked", "The task was marked as blocked."],
  ["inbox", "released", "The agent gave the task back."],
] as const)("a holder that moves its task to %s ends its run as %s", async (status, expected, ended_reason) => {
  const { id } = await addTask(world, team);
  await next();
  expect((await patch(id, { status })).status).toBe(200);
  const [run] = await storedRuns(id);
  expect(run).toMatchObject({ status: expected, ended_reason, fence: 1 });
  expect(run!.ended_at!.getTime()).toBeGreaterThanOrEqual(run!.started_at.getTime());
  expect((await read(id)).run).toMatchObject({ id: run!.id, status: expected, ended_at: run!.ended_at!.toISOString() });
});

test("a lease that is given back ends its run as released", async () => {
  const { id } = await addTask(world, team);
  await take(id);
  expect((await giveBack(id)).status).toBe(200);
  expect(await storedRuns(id)).toMatchObject([{ status: "released" }]);
});

test("a run whose lease has expired ends as expired, and the next lease begins a new run", async () => {
  const { id } = await addTask(world, team);
  await next();
  world.elapse(16 * MINUTE);
  expect((await next(team.second.token)).body.lease.fence).toBe(3);
  expect(await storedRuns(id)).toMatchObject([
    { status: "expired", agent_id: team.worker.id, fence: 1, ended_reason: "The lease expired." },
    { status: "running", agent_id: team.second.id, fence: 3 },
  ]);
  expect(await read(id)).toMatchObject({ run: { status: "running", ended_at: null }, usage: { runs: 2 } });
});

test("a run is superseded when a person gives its task to another agent", async () => {
  const { id } = await addTask(world, team);
  await next();
  expect((await patchAsOwner(id, { assigned_agent_id: team.second.id })).status).toBe(200);
  expect(await storedRuns(id)).toMatchObject([
    { status: "superseded", agent_id: team.worker.id, ended_reason: "Another agent took the task." },
    { status: "running", agent_id: team.second.id },
  ]);
});

test("a task that a person moves away stops the run of its holder", async () => {
  const { id } = await addTask(world, team);
  await next();
  expect((await patchAsOwner(id, { status: "done" })).status).toBe(200);
  expect(await storedRuns(id)).toMatchObject([{ status: "stopped", ended_reason: "The task was moved to done." }]);
});

test("a task in progress without a lease has a run of its assignee until its status changes", async () => {
  const { id } = await addTask(world, team);
  await patch(id, { status: "in_progress" });
  expect(await storedRuns(id)).toMatchObject([{ status: "running", agent_id: team.worker.id, fence: 0 }]);
  await patch(id, { status: "review" });
  expect(await storedRuns(id)).toMatchObject([{ status: "submitted" }]);
});

test("a task that is created in progress for an agent begins with a run", async () => {
  const body = { title: "Paint", status: "in_progress", assigned_agent_id: team.worker.id };
  const created = await world.call("POST", `/api/v1/boards/${team.board_id}/tasks`, { token: team.owner.token, body });
  expect(created.body.run).toMatchObject({ status: "running", agent_id: team.worker.id });
  expect(await storedRuns(created.body.id)).toMatchObject([{ status: "running", agent_name: expect.any(String) }]);
});

test("a run still names its agent after the agent was removed", async () => {
  const { id } = await addTask(world, team);
  await next();
  const [{ agent_name } = { agent_name: "" }] = await storedRuns(id);
  await world.call("DELETE", `/api/v1/agents/${team.worker.id}?force=true`, { token: team.owner.token });
  await world.drain();
  expect(await storedRuns(id)).toMatchObject([{ agent_name, agent_id: team.worker.id, status: "stopped" }]);
});

/** Makes a task that is in progress look as it did before runs existed. */
async function forgetRuns(task_id: string): Promise<void> {
  await world.db.execute(sql`alter table tasks disable trigger user`);
  await world.db.delete(runs).where(eq(runs.task_id, task_id));
  await world.db
    .update(tasks)
    .set({ run_id: null, run_status: null, run_agent_id: null, run_started_at: null, run_count: 0 })
    .where(eq(tasks.id, task_id));
  await world.db.execute(sql`alter table tasks enable trigger user`);
}

const commentOn = (id: string) =>
  world.call("POST", `${agentTaskPath(team, id)}/comments`, { agent: team.worker.token, body: { content: "Half done" } });
const readInbox = () => world.call("GET", "/api/v1/agent/inbox", { agent: team.worker.token });

test.each([
  ["reading of the inbox", readInbox],
  ["comment", commentOn],
  ["change", (id: string) => patch(id, {})],
])("a leased task that was in progress before runs existed gets a run with the next %s of its holder", async (_what, act) => {
  const { id } = await addTask(world, team);
  await next();
  await forgetRuns(id);
  expect(await read(id)).toMatchObject({ status: "in_progress", run: null });
  expect((await act(id)).status).toBe(200);
  expect(await storedRuns(id)).toMatchObject([{ status: "running", agent_id: team.worker.id, fence: 1 }]);
  expect(await read(id)).toMatchObject({ run: { status: "running" }, usage: { runs: 1 } });
});

test("a task without a lease that was in progress before runs existed gets a run with the next change of a person", async () => {
  const { id } = await addTask(world, team);
  await patch(id, { status: "in_progress" });
  await forgetRuns(id);
  expect((await patchAsOwner(id, { priority: "high" })).status).toBe(200);
  expect(await storedRuns(id)).toMatchObject([{ status: "running", agent_id: team.worker.id, fence: 0 }]);
});

test("the operation `next` sends as many statements with a run as without one", async () => {
  const countOf = async () => {
    await addTask(world, team);
    world.statements.length = 0;
    expect((await next(team.worker.token, { parallel: true })).body.task).not.toBeNull();
    return world.statements.length;
  };
  await countOf();
  const counted = await countOf();
  expect(world.statements.filter((text) => /"?runs"?\b/.test(text))).toEqual([]);
  await world.db.execute(sql`alter table tasks disable trigger user`);
  const withoutRuns = await countOf();
  await world.db.execute(sql`alter table tasks enable trigger user`);
  expect(counted).toBe(withoutRuns);
});

test("the run of an agent whose process died is ended as expired by the schedule, and its task is free again", async () => {
  const { id } = await addTask(world, team);
  await next();
  world.elapse(16 * MINUTE);
  await scheduled.lifecycle(world.context());
  expect(await storedRuns(id)).toMatchObject([{ status: "expired", ended_reason: "The lease expired." }]);
  expect(await read(id)).toMatchObject({ status: "inbox", assigned_agent_id: null, run: { status: "expired" } });
});
