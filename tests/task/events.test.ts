import { agents, tags } from "@board/core/schema/all-tables";
import { eq } from "drizzle-orm";
import { beforeEach, describe, expect, test } from "vitest";
import {
  agentTaskPath,
  changeTask,
  createTeam,
  eventsOf,
  addDependencies,
  recordNotices,
  openTeamFixture,
  patchTask,
  getTask,
  setRules,
  STATUSES,
  taskEvents,
  transitionsOf,
  type Credential,
} from "../support/task-rules.ts";
import { addTask, type TaskRow } from "../support/task.ts";
import { setup } from "../support/fixtures.ts";

const { world, team, owner, worker, lead, main } = await setup(openTeamFixture());
const tag = { organization_id: team.organization_id, name: "T", slug: "t", color: "ffffff" };
const tag_id: string = (await world.db.insert(tags).values(tag).returning())[0]!.id;

beforeEach(() => setRules(world, team));

const PAST = new Date("2026-01-05T08:00:00.000Z");
const add = (fields: Parameters<typeof addTask>[2] = {}) => addTask(world, team, { title: "Sweep", updated_at: PAST, ...fields });
/** Makes a change, and returns the type and the message of the events that it records for its task. */
async function recorded(who: Credential, task: TaskRow, body: object) {
  const before = (await eventsOf(world, task)).length;
  await changeTask(world, who, task, body);
  return (await eventsOf(world, task)).slice(before);
}
const removeSession = ({ id }: { id: string }) =>
  world.db.update(agents).set({ openclaw_session_id: null }).where(eq(agents.id, id));
const updated = ["task.updated", "Task updated: Sweep."];
const assigned = (name: string) => ["task.assigned", `Task assigned to ${name}: Sweep.`];
const woken = (name: string, reason = "assignment") => ["task.assignee_woken", `Assignee woken (${reason}): ${name}.`];
const moved = (status: string) => ["task.status_changed", `Task moved to ${status}: Sweep.`];

describe("events of a new task", () => {
  const create = async (who: Credential, body: object) => {
    const path = `/api/v1${"agent" in who ? "/agent" : ""}/boards/${team.board_id}/tasks`;
    const created = await world.call("POST", path, { ...who, body: { title: "Sweep", ...body } });
    return eventsOf(world, await getTask(world, created.body.id));
  };

  test("a new task records one event, and two more if it has an assignee", async () => {
    expect(await create(owner, {})).toEqual([["task.created", "Task created: Sweep."]]);
    expect(await create(lead, {})).toEqual([["task.created", "Task created by lead: Sweep."]]);
    for (const [who, first] of [
      [owner, "Task created: Sweep."],
      [lead, "Task created by lead: Sweep."],
    ] as const)
      for (const status of STATUSES)
        expect(await create(who, { status, priority: "high", assigned_agent_id: team.worker.id })).toEqual([
          ["task.created", first],
          assigned("Worker"),
          woken("Worker"),
        ]);
  });

  test("events of a new task name its creator", async () => {
    for (const [who, by] of [
      [owner, { user_id: team.owner_id, agent_id: null }],
      [lead, { user_id: null, agent_id: team.lead.id }],
    ] as const) {
      const before = (await taskEvents(world, team)).length;
      await create(who, { assigned_agent_id: team.worker.id });
      const { organization_id, board_id } = team;
      const event = { organization_id, board_id, task_id: expect.any(String), tags: null, ...by };
      expect((await taskEvents(world, team)).slice(before)).toMatchObject([event, event, event]);
    }
  });
});

describe("events of a change", () => {
  test("a change without a new status records one task.updated with the new title", async () => {
    const first = await addTask(world, team, { status: "done" });
    const fields = { title: "Mop", description: "D", due_at: "2026-12-24", tag_ids: [tag_id], depends_on_task_ids: [first.id] };
    for (const [field, value] of Object.entries(fields))
      expect(await recorded(owner, await add(), { [field]: value })).toEqual([
        ["task.updated", `Task updated: ${field === "title" ? "Mop" : "Sweep"}.`],
      ]);
    expect(await recorded(owner, await add(), fields)).toEqual([["task.updated", "Task updated: Mop."]]);
    for (const [field, value] of [
      ["tag_ids", [tag_id]],
      ["depends_on_task_ids", [first.id]],
    ] as const)
      expect(await recorded(lead, await add(), { [field]: value })).toEqual([updated]);
  });

  test("a change of the status records one task.status_changed, whatever else changes", async () => {
    for (const status of STATUSES.filter((name) => name !== "inbox")) {
      const before = await add();
      expect(await recorded(owner, before, { status, description: "D", tag_ids: [tag_id] })).toEqual(
        status === "review" ? [moved(status), assigned("Lead"), woken("Lead")] : [moved(status)],
      );
    }
    const claim = await recorded(worker, await add(), { status: "in_progress" });
    expect(claim).toEqual([moved("in_progress"), assigned("Worker"), woken("Worker")]);
  });

  test("a change of every kind records its events in a fixed order, the comment first", async () => {
    const task = await add();
    const body = {
      title: "Mop",
      status: "in_progress",
      priority: "high",
      assigned_agent_id: team.second.id,
      comment: " Now\nplease ",
    };
    expect(await recorded(owner, task, body)).toEqual([
      ["task.comment", "Now\nplease"],
      ["task.status_changed", "Task moved to in_progress: Mop."],
      ["task.assigned", "Task assigned to Second: Mop."],
      ["task.priority_changed", "Task priority changed to high: Mop."],
      ["task.assignee_woken", "Assignee woken (assignment): Second."],
    ]);
  });

  test("a change of priority or assignee records an event in addition to task.updated", async () => {
    const task = await add();
    expect(await recorded(owner, task, { priority: "low" })).toEqual([
      updated,
      ["task.priority_changed", "Task priority changed to low: Sweep."],
    ]);
    for (const who of [owner, lead]) {
      expect(await recorded(who, task, { assigned_agent_id: team.main.id })).toEqual([
        updated,
        assigned("Keeper"),
        woken("Keeper"),
      ]);
      expect(await recorded(who, task, { assigned_agent_id: null })).toEqual([updated]);
    }
    expect(await recorded(worker, task, { assigned_agent_id: team.worker.id })).toEqual([
      updated,
      assigned("Worker"),
      woken("Worker"),
    ]);
  });

  test("moving an assigned task to in_progress wakes its assignee, and no other change wakes the assignee", async () => {
    const assignedToWorker = { assigned_agent_id: team.worker.id };
    for (const status of STATUSES)
      for (const who of [owner, worker, lead]) {
        const events = await recorded(who, await add({ ...assignedToWorker, status }), { status: "in_progress" });
        expect(events).toEqual(status === "in_progress" ? [] : [moved("in_progress"), woken("Worker", "status_in_progress")]);
      }
    expect(await recorded(owner, await add(assignedToWorker), { status: "blocked" })).toEqual([moved("blocked")]);
    expect(
      await recorded(owner, await add({ ...assignedToWorker, status: "in_progress" }), { priority: "high" }),
    ).not.toContainEqual(woken("Worker", "status_in_progress"));
  });

  test("a change that should wake an agent records a failure if the agent has no session", async () => {
    const second = await createTeam(world, "mute");
    await removeSession(second.worker);
    const task = await addTask(world, second, { title: "Sweep" });
    const failed = (reason: string) => ["task.assignee_wake_failed", expect.stringContaining(`(${reason})`)];
    const by = { token: second.owner.token };
    expect(await recorded(by, task, { assigned_agent_id: second.worker.id })).toEqual([
      updated,
      assigned("Worker"),
      failed("assignment"),
    ]);
    expect(await recorded(by, task, { status: "in_progress" })).toEqual([moved("in_progress"), failed("status_in_progress")]);
  });

  test("being assigned a task does not count as an agent's presence", async () => {
    const read = async () => (await world.db.select().from(agents).where(eq(agents.id, team.second.id)))[0];
    const before = await read();
    await recorded(owner, await add(), { assigned_agent_id: team.second.id, status: "in_progress" });
    expect(await read()).toEqual(before);
  });

  test("every event of a change names its actor, including events of other tasks", async () => {
    for (const [who, by] of [
      [owner, { user_id: team.owner_id, agent_id: null }],
      [worker, { user_id: null, agent_id: team.worker.id }],
      [main, { user_id: null, agent_id: team.main.id }],
      [lead, { user_id: null, agent_id: team.lead.id }],
    ] as const) {
      const task = await add();
      await addDependencies(world, await add(), [task]);
      const before = (await taskEvents(world, team)).length;
      await changeTask(world, who, task, { status: "done", comment: "There" });
      const events = (await taskEvents(world, team)).slice(before);
      expect(events.length).toBeGreaterThanOrEqual(3);
      for (const event of events) expect(event).toMatchObject({ ...by, organization_id: team.organization_id });
    }
  });

  test("a change with a comment alone records only the comment and does not touch the task", async () => {
    const task = await add();
    for (const who of [owner, worker, lead])
      expect(await recorded(who, task, { comment: "Hm" })).toEqual([["task.comment", "Hm"]]);
    expect(await recorded(owner, task, { status: "inbox", comment: "Hm" })).toEqual([["task.comment", "Hm"]]);
    expect(await getTask(world, task.id)).toEqual(task);
  });

  test("the comment of a change is listed among the task's comments with its author", async () => {
    const task = await add();
    await recorded(worker, task, { status: "in_progress", comment: " Started " });
    const comments = await world.call("GET", `${agentTaskPath(team, task.id)}/comments`, worker);
    expect(comments.body.items).toMatchObject([
      { message: "Started", content: "Started", agent_id: team.worker.id, user_id: null, tags: [] },
    ]);
  });

  test("a refused change records no event, not even its comment", async () => {
    const readNotices = await recordNotices(world, team);
    await setRules(world, team, { require_approval_for_done: true });
    const task = await add({ assigned_agent_id: team.worker.id });
    for (const who of [owner, worker, lead])
      expect((await patchTask(world, who, task, { status: "done", comment: "@lead done" })).status).toBe(409);
    expect([await eventsOf(world, task), await readNotices()]).toEqual([[], []]);
  });

  test("a change is stored with its events and notifications or not at all", async () => {
    const task = await add();
    const last = await addTask(world, team, { status: "review" });
    await addDependencies(world, last, [task]);
    await world.db.execute(`create function refuse() returns trigger language plpgsql as 'begin raise exception ''no''; end'`);
    for (const table of ["jobs", "activity_events", "task_transitions"]) {
      await world.db.execute(`create trigger refuse before insert on ${table} for each row execute function refuse()`);
      const body = {
        status: "in_progress",
        title: "Half",
        assigned_agent_id: team.worker.id,
        tag_ids: [tag_id],
        comment: "Half",
      };
      const failed = await patchTask(world, owner, task, body);
      await world.db.execute(`drop trigger refuse on ${table}`);
      expect([failed.status, await eventsOf(world, task), await transitionsOf(world, task.id)]).toEqual([500, [], []]);
      expect(await getTask(world, task.id)).toEqual(task);
    }
    await world.db.execute("drop function refuse()");
  });
});
