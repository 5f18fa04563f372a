/** What completing or reopening a task does to the tasks that depend on it. */
import { describe, expect, test } from "vitest";
import {
  changeTask,
  eventsOf,
  headersOf,
  addDependencies,
  recordNotices,
  openTeamFixture,
  getTask,
  STATUSES,
  taskEvents,
  taskPath,
  transitionsOf,
  type Credential,
} from "../support/task-rules.ts";
import { addTask, type TaskRow } from "../support/task.ts";
import { setup } from "../support/fixtures.ts";

const { world, team, owner, worker, lead, change } = await setup(openTeamFixture());

const PAST = new Date("2026-01-05T08:00:00.000Z");
const add = (fields: Parameters<typeof addTask>[2] = {}) =>
  addTask(world, team, { created_at: PAST, updated_at: PAST, ...fields });

/** Stores tasks that depend on `first`: for each status a task that is assigned to the worker, and two unassigned tasks. */
async function dependentsOf(first: TaskRow) {
  const rows: Record<string, TaskRow> = {};
  for (const status of STATUSES) {
    const times = { in_progress_at: status === "inbox" ? null : PAST, last_started_at: PAST };
    rows[status] = await add({ title: status, status, assigned_agent_id: team.worker.id, ...times });
  }
  rows["free"] = await add({ title: "free" });
  rows["started"] = await add({ title: "started", status: "in_progress", in_progress_at: PAST });
  for (const row of Object.values(rows)) await addDependencies(world, row, [first]);
  return rows as Record<(typeof STATUSES)[number] | "free" | "started", TaskRow>;
}

describe("reopening a dependency", () => {
  const targets = STATUSES.filter((status) => status !== "done");

  test.each(targets)("reopening a task as %s moves its unfinished dependents back to the inbox, unassigned", async (status) => {
    for (const who of [owner, worker, lead]) {
      const first = await add({ status: "done" });
      const before = await dependentsOf(first);
      await change(who, first, { status });
      const after = Object.fromEntries(
        await Promise.all(Object.entries(before).map(async ([name, { id }]) => [name, await getTask(world, id)] as const)),
      );
      const inbox = { status: "inbox", assigned_agent_id: null, in_progress_at: null };
      for (const name of ["inbox", "in_progress", "review", "started"] as const) {
        const { updated_at, run_ended_at } = after[name]!;
        const run_status = before[name].run_status && (who === worker ? "released" : "stopped");
        expect(after[name]).toEqual({ ...before[name], ...inbox, run_status, run_ended_at, updated_at });
        expect(run_ended_at !== null).toBe(run_status !== null);
        expect(updated_at.getTime()).toBeGreaterThan(PAST.getTime());
      }
      for (const name of ["done", "blocked", "free"] as const) expect(after[name]).toEqual(before[name]);
      const shown = (await world.call("GET", taskPath(team, before.review.id), owner)).body;
      expect(shown).toMatchObject({ ...inbox, is_blocked: true, blocked_by_task_ids: [first.id] });

      const by = who === owner ? { agent_id: null, user_id: team.owner_id } : { user_id: null };
      for (const from_status of ["in_progress", "review"] as const)
        expect(await transitionsOf(world, before[from_status].id)).toMatchObject([
          { from_status, to_status: "inbox", in_progress_at: null, ...by },
        ]);
      for (const name of ["inbox", "done", "blocked", "free"] as const)
        expect(await transitionsOf(world, before[name].id)).toEqual([]);
    }
  });

  test("reopening a task moves only its direct dependents", async () => {
    const first = await add({ status: "done" });
    const [direct, second] = [await add({ status: "review" }), await add({ status: "review" })];
    await addDependencies(world, direct, [first]);
    await addDependencies(world, second, [direct]);
    const bystander = await add({ status: "review" });
    await change(owner, first, { status: "inbox" });
    expect((await getTask(world, direct.id)).status).toBe("inbox");
    for (const row of [second, bystander]) expect(await getTask(world, row.id)).toEqual(row);
  });

  test("a reopened task that is itself blocked still moves its dependents", async () => {
    const [open, first] = [await add(), await add({ status: "done" })];
    await addDependencies(world, first, [open]);
    const direct = await add({ status: "review" });
    await addDependencies(world, direct, [first]);
    await change(owner, first, { status: "review" });
    for (const { id } of [first, direct]) expect((await getTask(world, id)).status).toBe("inbox");
  });
});

describe("completing a dependency", () => {
  test("completing a task unblocks its dependents without changing their rows", async () => {
    for (const who of [owner, worker, lead]) {
      const [first, other] = [await add({ status: "review" }), await add()];
      const before = await dependentsOf(first);
      const both = await add();
      await addDependencies(world, both, [first, other]);
      await change(who, first, { status: "done" });
      for (const row of Object.values(before)) expect(await getTask(world, row.id)).toEqual(row);
      const shown = async ({ id }: TaskRow) => (await world.call("GET", taskPath(team, id), owner)).body;
      expect(await shown(before.free)).toMatchObject({
        is_blocked: false,
        blocked_by_task_ids: [],
        depends_on_task_ids: [first.id],
      });
      expect(await shown(both)).toMatchObject({ is_blocked: true, blocked_by_task_ids: [other.id] });
    }
  });

  test("a change that neither completes nor reopens a task records nothing for its dependents", async () => {
    for (const status of STATUSES) {
      const first = await add({ status });
      const waiting = await add();
      await addDependencies(world, waiting, [first]);
      await change(owner, first, { status, title: "Renamed" });
      if (status !== "done") await change(owner, first, { status: status === "review" ? "inbox" : "review" });
      expect([await getTask(world, waiting.id), await eventsOf(world, waiting)]).toEqual([waiting, []]);
    }
  });
});

describe("events of dependent tasks", () => {
  const dependents = async (first: TaskRow) => {
    const rows: [string, TaskRow][] = [];
    for (const status of STATUSES)
      for (const assigned_agent_id of [null, team.worker.id])
        rows.push([`${status}${assigned_agent_id ? "" : ", free"}`, await addTask(world, team, { status, assigned_agent_id })]);
    for (const [, row] of rows) await addDependencies(world, row, [first]);
    return rows;
  };
  const eventsOfAll = async (rows: [string, TaskRow][]) =>
    Object.fromEntries(await Promise.all(rows.map(async ([name, row]) => [name, await eventsOf(world, row)] as const)));

  test("each unfinished dependent has an event when its dependency is completed", async () => {
    const first = await add({ status: "review" });
    const rows = await dependents(first);
    await changeTask(world, owner, first, { status: "done", title: "Mop" });
    const changed = [["task.updated", "Dependency completion changed: Mop."]];
    expect(await eventsOfAll(rows)).toEqual(
      Object.fromEntries(rows.map(([name]) => [name, name.startsWith("done") ? [] : changed])),
    );
  });

  test("a reopened dependency records, for each unfinished dependent, one event that names its return to the inbox", async () => {
    const first = await add({ status: "done" });
    const rows = await dependents(first);
    await changeTask(world, owner, first, { status: "review", title: "Mop" });
    const returned = "Task returned to inbox: dependency reopened (Mop).";
    const waits = [["task.updated", "Dependency completion changed: Mop."]];
    expect(await eventsOfAll(rows)).toEqual({
      "inbox, free": waits,
      inbox: [["task.updated", returned]],
      "in_progress, free": [["task.status_changed", returned]],
      in_progress: [["task.status_changed", returned]],
      "review, free": [["task.status_changed", returned]],
      review: [["task.status_changed", returned]],
      "done, free": [],
      done: [],
      "blocked, free": waits,
      blocked: waits,
    });
  });

  test("events of dependents come after the task's own events", async () => {
    const first = await add({ status: "review" });
    const second = await addTask(world, team);
    await addDependencies(world, second, [first]);
    const before = (await taskEvents(world, team)).length;
    await changeTask(world, worker, first, { status: "done", comment: "Done" });
    expect((await taskEvents(world, team)).slice(before).map(({ event_type, task_id }) => [event_type, task_id])).toEqual([
      ["task.comment", first.id],
      ["task.status_changed", first.id],
      ["task.assigned", first.id],
      ["task.assignee_woken", first.id],
      ["task.updated", second.id],
    ]);
  });
});

describe("notifications of a reopened dependency", () => {
  const BACK = "TASK BACK IN INBOX";
  const to = (agent: { session_key: string }, header: string) => [`${agent.session_key} ${header}`];
  /** Reopens a dependency of a task with this assignee and returns the notifications sent. */
  async function reopen(who: Credential, assigned_agent_id: string | null, status: TaskRow["status"] = "in_progress") {
    const [first, task] = [await add({ status: "done", title: "First" }), await add({ status, assigned_agent_id })];
    await addDependencies(world, task, [first]);
    const readNotices = await recordNotices(world, team);
    await change(who, first, { status: "in_progress" });
    return { task, headers: headersOf(await readNotices()) };
  }

  test("the lead and the former assignee are notified of each task moved back to the inbox", async () => {
    for (const status of ["inbox", "in_progress", "review"] as const) {
      const readNotices = await recordNotices(world, team);
      const { task, headers } = await reopen(owner, team.second.id, status);
      expect(headers).toEqual([...to(team.lead, BACK), ...to(team.second, BACK)].toSorted());
      const notices = await readNotices();
      for (const { message } of notices)
        expect(message.split("\n").slice(0, 5)).toEqual([
          BACK,
          "Board: home board",
          "Task: Task",
          `Task ID: ${task.id}`,
          "Status: inbox",
        ]);
      const [toLead, toAssignee] = [team.lead, team.second].map((agent) =>
        notices.find(({ session_key }) => session_key === agent.session_key),
      );
      expect(toLead).toMatchObject({ sent: { event_type: "task.lead_unassigned_notified", task_id: task.id } });
      expect([toAssignee!.sent, toAssignee!.failed]).toEqual([undefined, undefined]);
    }
  });

  test("the agent that reopened the dependency is not notified, and a lead that was the assignee is notified once", async () => {
    expect((await reopen(lead, team.second.id)).headers).toEqual(to(team.second, BACK));
    expect((await reopen(worker, team.worker.id)).headers).toEqual(to(team.lead, BACK));
    expect((await reopen(owner, team.lead.id, "review")).headers).toEqual(to(team.lead, BACK));
    expect((await reopen(lead, team.lead.id, "review")).headers).toEqual([]);
    expect((await reopen(owner, null)).headers).toEqual(to(team.lead, BACK));
  });

  test("no agent is notified of dependents that stay unchanged", async () => {
    for (const [status, assigned_agent_id] of [
      ["done", team.second.id],
      ["blocked", team.second.id],
      ["inbox", null],
    ] as const)
      expect((await reopen(owner, assigned_agent_id, status)).headers).toEqual([]);
  });
});
