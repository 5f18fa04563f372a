/** Statements of a whole request: authentication, presence, board access and the work. */
import { tags, tasks } from "@board/core/schema/all-tables";
import { beforeEach, expect, test } from "vitest";
import {
  agentTaskPath,
  changeTask,
  NO_RULES,
  addDependencies,
  openTeamFixture,
  setRules,
  taskPath,
} from "../support/task-rules.ts";
import { setup } from "../support/fixtures.ts";

const { world, team, owner, worker, lead, add } = await setup(openTeamFixture());
// An agent's first request stores its presence; later ones within 30 seconds do not.
for (const who of [worker, lead]) await world.call("GET", agentTaskPath(team, ""), who);

beforeEach(() => setRules(world, team));

test("reading a task or a list of any length takes two statements", async () => {
  const list = `/api/v1/boards/${team.board_id}/tasks`;
  const task = await add();
  expect(await world.countStatements(() => world.call("GET", taskPath(team, task.id), owner))).toBe(2);
  const before = await world.countStatements(() => world.call("GET", list, owner));
  for (let index = 0; index < 20; index++) await addDependencies(world, await add({ assigned_agent_id: team.worker.id }), [task]);
  expect([before, await world.countStatements(() => world.call("GET", list, owner))]).toEqual([2, 2]);
  expect(await world.countStatements(() => world.call("GET", `/api/v1/agent/boards/${team.board_id}/tasks`, worker))).toBe(2);
});

/** Starting a task, moving it to review, finishing it and commenting: the most frequent changes. */
test.each([
  ["a person", () => owner],
  ["a worker", () => worker],
  ["a lead", () => lead],
] as const)("every frequent change by %s takes at most eight statements", async (_name, who) => {
  const everything = Object.fromEntries(Object.keys(NO_RULES).map((rule) => [rule, true]));
  for (const rules of [{}, { ...everything, only_lead_can_change_status: false, require_approval_for_done: false }]) {
    await setRules(world, team, rules);
    const by = who();
    const task = await add({ title: "Sweep", ...(by === worker ? {} : { assigned_agent_id: team.worker.id }) });
    const [first, waiting] = [await add({ status: "done" }), await add()];
    await addDependencies(world, task, [first]);
    await addDependencies(world, waiting, [task]);
    const cost = (body: object) => world.countStatements(() => changeTask(world, by, task, body));
    expect(await cost({ status: "in_progress" })).toBeLessThanOrEqual(8);
    expect(await cost({ comment: "Getting there, @second" })).toBeLessThanOrEqual(8);
    expect(await cost({ status: "review", comment: "@lead look" })).toBeLessThanOrEqual(8);
    if (by === worker) await changeTask(world, owner, task, { assigned_agent_id: team.worker.id });
    expect(await cost({ status: "done" })).toBeLessThanOrEqual(8);
    expect(await cost({ status: "done", comment: "Well done, @worker" })).toBeLessThanOrEqual(8);
  }
});

test("a person's change of every field takes at most 15 statements, and a change without effect at most seven", async () => {
  const tag = { organization_id: team.organization_id, name: "T", slug: "t", color: "ffffff" };
  const [createdTag] = await world.db.insert(tags).values(tag).returning();
  const [first, task] = [await add({ status: "done" }), await add()];
  const body = {
    title: "Mop",
    description: "D",
    status: "in_progress",
    priority: "high",
    assigned_agent_id: team.worker.id,
    depends_on_task_ids: [first.id],
    tag_ids: [createdTag!.id],
  };
  expect(await world.countStatements(() => changeTask(world, owner, task, body))).toBeLessThanOrEqual(15);
  expect(
    await world.countStatements(() => changeTask(world, owner, task, { status: "in_progress", title: "Mop" })),
  ).toBeLessThanOrEqual(7);
});

test("reopening a task takes as many statements for 20 dependents as for one", async () => {
  const costs = [];
  for (const dependents of [1, 20]) {
    const first = await add({ status: "done" });
    for (let index = 0; index < dependents; index++)
      await addDependencies(world, await add({ status: "review", assigned_agent_id: team.worker.id }), [first]);
    costs.push(await world.countStatements(() => changeTask(world, owner, first, { status: "in_progress" })));
  }
  expect(costs[1]).toBe(costs[0]);
  expect(costs[0]).toBeLessThanOrEqual(9);
});

test("creating a task takes at most nine statements, and deleting it at most twelve, for any number of dependents", async () => {
  const path = (prefix: string) => `${prefix}/boards/${team.board_id}/tasks`;
  const body = { title: "New", assigned_agent_id: team.worker.id };
  expect(await world.countStatements(() => world.call("POST", path("/api/v1"), { ...owner, body }))).toBeLessThanOrEqual(9);
  expect(await world.countStatements(() => world.call("POST", path("/api/v1/agent"), { ...lead, body }))).toBeLessThanOrEqual(9);
  const task = await add();
  for (let index = 0; index < 20; index++) await addDependencies(world, await add(), [task]);
  expect(await world.countStatements(() => world.call("DELETE", taskPath(team, task.id), owner))).toBeLessThanOrEqual(12);
});

test("taking the next task takes at most ten statements, and four when there is no task", async () => {
  const next = () =>
    world.countStatements(() => world.call("POST", "/api/v1/agent/tasks/next", { ...worker, body: { parallel: true } }));
  await world.db.delete(tasks);
  expect(await next()).toBeLessThanOrEqual(4);
  await add();
  expect(await next()).toBeLessThanOrEqual(10);
});
