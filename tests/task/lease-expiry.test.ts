import { agents, jobs, task_transitions } from "@board/core/schema/all-tables";
import { runScheduled } from "@board/api/work/schedules";
import { asc, eq, sql } from "drizzle-orm";
import { describe, expect, test } from "vitest";
import { listEvents } from "../support/activity.ts";
import { renew, setupWorld } from "../support/fixtures.ts";
import { addTask } from "../support/task.ts";
import { agentTaskPath, createTeam, taskPath } from "../support/task-rules.ts";
import { createWorld } from "../support/world.ts";

const HOUR = 3_600_000;
const LEASE = 900_000;

const world = await setupWorld({ environment: { TASK_IDLE_HOURS: "4" } });

const team = renew((n) => createTeam(world, `expiry-${n}`));

const next = (agent = team.worker.token) => world.call("POST", "/api/v1/agent/tasks/next", { agent, body: {} });
const sweep = () => runScheduled(world.context(), "lifecycle");
const read = async (id: string) => (await world.call("GET", taskPath(team, id), { token: team.owner.token })).body;
const patch = (id: string, body: object, agent = team.worker.token, fence?: number) =>
  world.call("PATCH", agentTaskPath(team, id), {
    agent,
    body,
    ...(fence === undefined ? {} : { headers: { "x-task-fence": String(fence) } }),
  });
const comment = (id: string) =>
  world.call("POST", `${agentTaskPath(team, id)}/comments`, { agent: team.worker.token, body: { content: "Half done" } });
const eventsOf = (task_id: string, event_type: "task.lease_expired" | "task.status_changed") =>
  listEvents(world, { task_id, event_type });
const messagesToLead = async () => {
  const rows = await world.db.select({ kind: jobs.kind, payload: jobs.payload }).from(jobs).where(eq(jobs.kind, "notice"));
  const notices = rows.map(({ payload }) => payload as { session_key: string; message: string });
  return notices.filter(({ session_key }) => session_key === team.lead.session_key).map(({ message }) => message.split("\n")[0]);
};

const JUDGES = { sweep, "request of another agent for its next task": () => next(team.second.token) };

describe.each(Object.entries(JUDGES))("expiry by a %s", (name, judge) => {
  test(`a task whose lease is over is taken from its holder by a ${name}`, async () => {
    const { id } = await addTask(world, team);
    const { lease } = (await next()).body;
    world.elapse(LEASE + 1_000);
    await judge();
    const [event, ...more] = await eventsOf(id, "task.lease_expired");
    expect(more).toEqual([]);
    expect(event).toMatchObject({ agent_id: team.worker.id, user_id: null, board_id: team.board_id });
    expect(event!.message).toContain(lease.expires_at);
    const [worker] = await world.db.select().from(agents).where(eq(agents.id, team.worker.id));
    expect(event!.message).toContain(worker!.name);
    const moves = await eventsOf(id, "task.status_changed");
    expect(moves[1]).toMatchObject({ agent_id: null, user_id: null, message: "Task moved to inbox: Task." });
    expect((await read(id)).lease?.agent_id).not.toBe(team.worker.id);
  });

  test(`a lease that is not over yet is not touched by a ${name}`, async () => {
    const { id } = await addTask(world, team);
    await next();
    world.elapse(LEASE - 60_000);
    await judge();
    expect(await read(id)).toMatchObject({ status: "in_progress", lease: { agent_id: team.worker.id, fence: 1 } });
  });
});

test("a task whose lease has expired is free in the inbox, the lead is notified, and the move is recorded", async () => {
  const { id } = await addTask(world, team);
  await next();
  world.elapse(LEASE + 1_000);
  await sweep();
  expect(await read(id)).toMatchObject({ status: "inbox", assigned_agent_id: null, in_progress_at: null, lease: null });
  expect(await messagesToLead()).toEqual(["TASK BACK IN INBOX"]);
  const steps = await world.db
    .select()
    .from(task_transitions)
    .where(eq(task_transitions.task_id, id))
    .orderBy(asc(task_transitions.at));
  expect(steps.map(({ from_status, to_status }) => [from_status, to_status])).toEqual([
    ["inbox", "in_progress"],
    ["in_progress", "inbox"],
  ]);
});

test("a board whose leases cannot be ended does not keep the leases of later boards, and the schedule reports its error", async () => {
  const other = await createTeam(world, "another board");
  const [first, second] = [team, other].toSorted((a, b) => (a.board_id < b.board_id ? -1 : 1));
  const take = async ({ worker }: typeof other) =>
    (await world.call("POST", "/api/v1/agent/tasks/next", { agent: worker.token, body: {} })).body.task.id;
  const statusOf = async (of: typeof other, id: string) =>
    (await world.call("GET", taskPath(of, id), { token: of.owner.token })).body.status;
  for (const { board_id } of [first!, second!]) await addTask(world, { ...team, board_id });
  const taken = [await take(first!), await take(second!)];
  world.elapse(LEASE + 1_000);
  const isStuck = sql.raw(`board_id = '${first!.board_id}' and status = 'inbox'`);
  await world.db.execute(sql`alter table tasks add constraint stuck check (not (${isStuck})) not valid`);
  await expect(sweep()).rejects.toThrow("tasks");
  const statuses = [await statusOf(first!, taken[0]), await statusOf(second!, taken[1])];
  await world.db.execute(sql`alter table tasks drop constraint stuck`);
  expect(statuses).toEqual(["in_progress", "inbox"]);
});

test("a late write of an expired holder changes nothing, and the next agent finishes the task", async () => {
  const { id } = await addTask(world, team);
  const first = (await next()).body.lease.fence;
  world.elapse(LEASE + 1_000);
  const { task, lease } = (await next(team.second.token)).body;
  expect(task.id).toBe(id);
  expect(lease.fence).toBeGreaterThan(first);
  const late = await patch(id, { status: "done" }, team.worker.token, first);
  expect([late.status, late.body.detail.code]).toEqual([409, "task_lease_lost"]);
  expect((await patch(id, { status: "blocked" }, team.second.token, lease.fence)).status).toBe(200);
  expect(await read(id)).toMatchObject({ status: "blocked", assigned_agent_id: team.second.id });
});

describe("a task whose lease expires again and again", () => {
  const loseTimes = async (times: number) => {
    for (let count = 0; count < times; count++) {
      expect((await next()).body.task).not.toBeNull();
      world.elapse(LEASE + 1_000);
      await sweep();
    }
  };

  test("the third expiry in a row blocks the task and notifies the lead", async () => {
    const { id } = await addTask(world, team);
    await loseTimes(2);
    expect((await read(id)).status).toBe("inbox");
    await loseTimes(1);
    expect(await read(id)).toMatchObject({ status: "blocked", assigned_agent_id: null, lease: null });
    expect(await messagesToLead()).toEqual(["TASK BACK IN INBOX", "TASK BACK IN INBOX", "TASK BLOCKED"]);
    expect((await next()).body.task).toBeNull();
  });

  const SIGNS_OF_WORK = { comment, "inline comment": (id: string) => patch(id, { comment: "Still at it" }) };
  test.each(Object.entries(SIGNS_OF_WORK))("a %s of the holder makes the count of expiries start again", async (_name, work) => {
    const { id } = await addTask(world, team);
    await loseTimes(2);
    await next();
    expect((await work(id)).status).toBe(200);
    world.elapse(LEASE + 1_000);
    await sweep();
    await loseTimes(1);
    expect((await read(id)).status).toBe("inbox");
    await loseTimes(1);
    expect((await read(id)).status).toBe("blocked");
  });

  test.each([
    ["the third expiry", 3],
    ["a person, after the second expiry,", 2],
  ])("a task that %s has blocked is handed out again three times once a person unblocks it", async (_who, times) => {
    const { id } = await addTask(world, team);
    await loseTimes(times);
    for (const status of ["blocked", "inbox"])
      await world.call("PATCH", taskPath(team, id), { token: team.owner.token, body: { status } });
    await loseTimes(2);
    expect((await read(id)).status).toBe("inbox");
  });
});

describe("silent agents", () => {
  const inWork = (assigned_agent_id: string) =>
    addTask(world, team, { status: "in_progress", assigned_agent_id, in_progress_at: world.now(), updated_at: world.now() });

  test("a task without a lease is taken from an agent that is silent for TASK_IDLE_HOURS", async () => {
    const { id } = await inWork(team.worker.id);
    await world.call("GET", "/api/v1/agent/boards", { agent: team.worker.token });
    world.elapse(4 * HOUR - 60_000);
    await sweep();
    expect((await read(id)).status).toBe("in_progress");
    world.elapse(2 * 60_000);
    await sweep();
    expect(await read(id)).toMatchObject({ status: "inbox", assigned_agent_id: null });
    const [event] = await eventsOf(id, "task.lease_expired");
    expect(event!.message).toContain("silent for 4 hours");
  });

  test("a task without a lease stays with an agent that makes requests", async () => {
    const { id } = await inWork(team.worker.id);
    for (let hour = 1; hour <= 6; hour++) {
      world.elapse(HOUR);
      await world.call("GET", "/api/v1/agent/boards", { agent: team.worker.token });
      await sweep();
    }
    expect((await read(id)).status).toBe("in_progress");
  });

  test("without TASK_IDLE_HOURS a task without a lease never leaves its agent", async () => {
    const patient = await createWorld();
    try {
      const crew = await createTeam(patient, "patient");
      const { id } = await addTask(patient, crew, { status: "in_progress", assigned_agent_id: crew.worker.id });
      patient.elapse(1_000 * HOUR);
      await runScheduled(patient.context(), "lifecycle");
      expect((await patient.call("GET", taskPath(crew, id), { token: crew.owner.token })).body.status).toBe("in_progress");
    } finally {
      await patient.close();
    }
  });
});
