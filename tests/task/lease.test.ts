import { activity_events } from "@board/core/schema/all-tables";
import { eq } from "drizzle-orm";
import { describe, expect, test } from "vitest";
import { addTask } from "../support/task.ts";
import { agentTaskPath, createTeam, setRules, taskPath } from "../support/task-rules.ts";
import { renew, setupWorld } from "../support/fixtures.ts";

const world = await setupWorld();

const team = renew((n) => createTeam(world, `lease-${n}`));

const MINUTE = 60_000;
const LOST = { message: "The lease of this task was lost; take the task again before you write to it.", code: "task_lease_lost" };

type Fence = number | string | undefined;
const fenced = (fence: Fence) => (fence === undefined ? {} : { headers: { "x-task-fence": String(fence) } });
const next = (agent = team.worker.token, body: object = {}) => world.call("POST", "/api/v1/agent/tasks/next", { agent, body });
const take = (id: string, agent = team.worker.token, body: object = {}, fence?: Fence) =>
  world.call("PUT", `${agentTaskPath(team, id)}/lease`, { agent, body, ...fenced(fence) });
const giveBack = (id: string, agent = team.worker.token, fence?: Fence) =>
  world.call("DELETE", `${agentTaskPath(team, id)}/lease`, { agent, ...fenced(fence) });
const patch = (id: string, body: object, agent = team.worker.token, fence?: Fence) =>
  world.call("PATCH", agentTaskPath(team, id), { agent, body, ...fenced(fence) });
const comment = (id: string, agent = team.worker.token, fence?: Fence) =>
  world.call("POST", `${agentTaskPath(team, id)}/comments`, { agent, body: { content: "Half done" }, ...fenced(fence) });
const patchAsOwner = (id: string, body: object) => world.call("PATCH", taskPath(team, id), { token: team.owner.token, body });
const read = async (id: string) => (await world.call("GET", taskPath(team, id), { token: team.owner.token })).body;
const secondsLeft = async (id: string) => (Date.parse((await read(id)).lease.expires_at) - world.now().getTime()) / 1_000;

describe("taking a lease", () => {
  test("a worker that takes the lease of a free task starts the task", async () => {
    const { id } = await addTask(world, team);
    const { status, body } = await take(id, team.worker.token, { lease_seconds: 3_600 });
    expect([status, body]).toEqual([200, { fence: 1, expires_at: expect.any(String) }]);
    expect(await read(id)).toMatchObject({ status: "in_progress", assigned_agent_id: team.worker.id, lease: { ...body } });
    expect(await secondsLeft(id)).toBeGreaterThan(3_590);
  });

  test("each lease of a task has a higher fence than the previous one", async () => {
    const { id } = await addTask(world, team);
    expect((await next()).body.lease.fence).toBe(1);
    expect((await take(id)).body.fence).toBe(2);
    expect((await giveBack(id)).status).toBe(200);
    expect((await next(team.second.token)).body.lease.fence).toBe(3);
  });

  test("the lease of a task that another agent works on is refused with task_already_claimed", async () => {
    const { id } = await addTask(world, team);
    await next();
    for (const agent of [team.second.token, team.lead.token, team.main.token]) {
      const { status, body } = await take(id, agent);
      expect([status, body.detail.code]).toEqual([409, "task_already_claimed"]);
    }
    expect((await read(id)).lease).toMatchObject({ agent_id: team.worker.id, fence: 1 });
  });

  test("a lead cannot take the lease of a free task", async () => {
    const { id } = await addTask(world, team);
    expect((await take(id, team.lead.token)).status).toBe(403);
    expect(await read(id)).toMatchObject({ status: "inbox", lease: null });
  });

  test.each(["review", "done", "blocked"] as const)("the lease of a task in %s cannot be taken", async (status) => {
    const { id } = await addTask(world, team, { status, assigned_agent_id: team.worker.id });
    expect((await take(id)).status).toBe(409);
    expect(await read(id)).toMatchObject({ status, lease: null });
  });

  test("a lease cannot be taken if the rules refuse the move of its task", async () => {
    await setRules(world, team, { only_lead_can_change_status: true });
    const { id } = await addTask(world, team);
    expect((await take(id)).status).toBe(403);
    expect((await read(id)).lease).toBeNull();
  });
});

describe("renewing a lease", () => {
  const RENEWALS = {
    "a comment": (id: string) => comment(id),
    "a change of the task": (id: string) => patch(id, { custom_field_values: {} }),
    "an inline comment": (id: string) => patch(id, { comment: "Going on" }),
    "taking it again": (id: string) => take(id),
  };
  test.each(Object.entries(RENEWALS))("%s renews the holder's lease to its full length", async (_name, renew) => {
    const { id } = await addTask(world, team);
    await next();
    world.elapse(10 * MINUTE);
    expect(await secondsLeft(id)).toBeLessThan(310);
    expect((await renew(id)).status).toBe(200);
    expect(await secondsLeft(id)).toBeGreaterThan(890);
  });

  test("a comment or change by another agent or person does not renew a lease", async () => {
    const { id } = await addTask(world, team);
    await next();
    world.elapse(10 * MINUTE);
    expect((await comment(id, team.lead.token)).status).toBe(200);
    expect((await patchAsOwner(id, { title: "Better" })).status).toBe(200);
    expect(await secondsLeft(id)).toBeLessThan(310);
    expect((await read(id)).lease.fence).toBe(1);
  });

  test("renewing a lease does not count as a change to the task", async () => {
    const { id } = await addTask(world, team);
    await next();
    const before = await read(id);
    const events = () => world.db.$count(activity_events, eq(activity_events.task_id, id));
    const counted = await events();
    world.elapse(MINUTE);
    await take(id);
    expect((await read(id)).updated_at).toBe(before.updated_at);
    expect(await events()).toBe(counted);
  });
});

describe("a stale fence", () => {
  const WRITES = {
    "a change": (id: string, agent: string, fence: Fence) => patch(id, { status: "done", comment: "Done" }, agent, fence),
    "a comment": (id: string, agent: string, fence: Fence) => comment(id, agent, fence),
    "taking the lease": (id: string, agent: string, fence: Fence) => take(id, agent, {}, fence),
    "giving the task back": (id: string, agent: string, fence: Fence) => giveBack(id, agent, fence),
  };

  test.each(Object.entries(WRITES))("%s under a stale fence is refused and writes nothing", async (_name, write) => {
    const { id } = await addTask(world, team);
    await next();
    await take(id);
    const before = await read(id);
    const events = await world.db.$count(activity_events, eq(activity_events.task_id, id));
    for (const fence of [1, 0, 3, 9_999_999_999, "-1", "two", ""]) {
      const { status, body } = await write(id, team.worker.token, fence);
      expect([fence, status, body.detail]).toEqual([fence, 409, LOST]);
    }
    expect(await read(id)).toEqual(before);
    expect(await world.db.$count(activity_events, eq(activity_events.task_id, id))).toBe(events);
  });

  test.each(Object.entries(WRITES))("%s under the current fence is accepted", async (_name, write) => {
    const { id } = await addTask(world, team);
    await next();
    expect((await write(id, team.worker.token, 1)).status).toBe(200);
  });

  test("the deletion of a task under a stale fence is refused", async () => {
    const { id } = await addTask(world, team);
    await next();
    const remove = (fence: number) => world.call("DELETE", agentTaskPath(team, id), { agent: team.lead.token, ...fenced(fence) });
    expect([(await remove(0)).status, (await remove(1)).status]).toEqual([409, 200]);
  });

  test("a holder can still comment under its fence after submitting the task", async () => {
    const { id } = await addTask(world, team);
    await next();
    expect((await patch(id, { status: "review", comment: "Ready" }, team.worker.token, 1)).body.lease).toBeNull();
    expect((await comment(id, team.worker.token, 1)).status).toBe(200);
  });

  const TAKEN: Record<string, readonly [() => object, object]> = {
    "reassigns it": [() => ({ assigned_agent_id: team.second.id }), LOST],
    "moves it": [() => ({ status: "blocked" }), LOST],
    "unassigns it": [() => ({ assigned_agent_id: null }), { ...LOST, reason: "stopped" }],
  };
  test.each(Object.entries(TAKEN))("the lease of a task ends when a person %s", async (_name, [change, lost]) => {
    const { id } = await addTask(world, team);
    await next();
    expect((await patchAsOwner(id, change())).body.lease).toBeNull();
    expect((await comment(id, team.worker.token, 1)).body.detail).toEqual(lost);
  });

  test("the lease of a task ends when one of its dependencies is reopened", async () => {
    const first = await addTask(world, team, { status: "done" });
    const body = { title: "Second", depends_on_task_ids: [first.id] };
    const { id } = (await world.call("POST", `/api/v1/boards/${team.board_id}/tasks`, { token: team.owner.token, body })).body;
    expect((await next()).body.task.id).toBe(id);
    await patchAsOwner(first.id, { status: "inbox" });
    expect(await read(id)).toMatchObject({ status: "inbox", lease: null });
    expect((await comment(id, team.worker.token, 1)).body.detail).toEqual({ ...LOST, reason: "stopped" });
  });

  test("the lease of a task ends when its holder is removed", async () => {
    const { id } = await addTask(world, team);
    await next();
    const removed = await world.call("DELETE", `/api/v1/agents/${team.worker.id}`, { token: team.owner.token });
    expect(removed.status).toBe(200);
    expect(await read(id)).toMatchObject({ status: "inbox", assigned_agent_id: null, lease: null });
    expect((await next(team.second.token)).body.lease.fence).toBe(3);
  });
});

describe("a task that is given back by its holder", () => {
  test("a task that was unassigned before its lease is unassigned again after it is given back", async () => {
    const { id } = await addTask(world, team);
    await next();
    expect(await giveBack(id)).toMatchObject({ status: 200, body: { ok: true } });
    expect(await read(id)).toMatchObject({ status: "inbox", assigned_agent_id: null, lease: null, in_progress_at: null });
    expect((await next(team.second.token)).body.task.id).toBe(id);
  });

  test("a task that was assigned before its lease stays assigned after it is given back", async () => {
    const { id } = await addTask(world, team, { assigned_agent_id: team.worker.id });
    await next();
    await take(id);
    expect((await giveBack(id)).status).toBe(200);
    expect(await read(id)).toMatchObject({ status: "inbox", assigned_agent_id: team.worker.id, lease: null });
  });

  test("an agent without the lease cannot give the task back", async () => {
    const { id } = await addTask(world, team);
    await next();
    for (const agent of [team.second.token, team.lead.token]) expect((await giveBack(id, agent)).status).toBe(409);
    const unleased = await addTask(world, team, { status: "in_progress", assigned_agent_id: team.worker.id });
    expect((await giveBack(unleased.id)).body.detail).toEqual(LOST);
    expect((await read(unleased.id)).status).toBe("in_progress");
  });
});

describe("who sees leases", () => {
  test("a lease is shown in the lists and the snapshot of the board", async () => {
    const { id } = await addTask(world, team);
    const { lease } = (await next()).body.task;
    const as = { token: team.owner.token };
    const listed = await world.call("GET", `/api/v1/boards/${team.board_id}/tasks`, as);
    const snapshot = await world.call("GET", `/api/v1/boards/${team.board_id}/snapshot`, as);
    const ofAgent = await world.call("GET", `/api/v1/agent/boards/${team.board_id}/tasks`, { agent: team.lead.token });
    const tasks = [listed.body.items, snapshot.body.tasks, ofAgent.body.items].map(([task]) => [task.id, task.lease]);
    expect(tasks).toEqual([0, 1, 2].map(() => [id, lease]));
  });

  test("a task that an agent starts by changing its status has no lease", async () => {
    const { id } = await addTask(world, team);
    expect((await patch(id, { status: "in_progress" })).body.lease).toBeNull();
  });
});
