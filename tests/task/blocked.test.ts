import { beforeEach, describe, expect, test } from "vitest";
import {
  addApproval,
  eventsOf,
  addDependencies,
  openTeamFixture,
  outcomeOf,
  getTask,
  setRules,
  STATUSES,
  transitionsOf,
} from "../support/task-rules.ts";
import type { TaskRow } from "../support/task.ts";
import { setup } from "../support/fixtures.ts";

const { world, team, owner, worker, lead, main, add, change, outcome } = await setup(openTeamFixture());

beforeEach(() => setRules(world, team));

const PAST = new Date("2026-01-05T08:00:00.000Z");
const message = expect.any(String);
const blockedBy = (...ids: string[]) => [409, { message, code: "task_blocked_cannot_transition", blocked_by_task_ids: ids }];

describe("a person's change of a task with an unfinished dependency", () => {
  let open: TaskRow;
  let task: TaskRow;
  beforeEach(async () => {
    open = await add({ status: "review" });
    task = await add({ status: "in_progress", assigned_agent_id: team.worker.id, in_progress_at: PAST, last_started_at: PAST });
    await addDependencies(world, task, [open]);
  });
  const INBOX = { status: "inbox", assigned_agent_id: null, in_progress_at: null };

  test.each([
    { status: "in_progress" },
    { status: "review" },
    { status: "done" },
    { status: "inbox" },
    { assigned_agent_id: null },
    { status: "in_progress", title: "Also renamed", priority: "high" },
  ])("a change of status, assignee or dependencies returns a blocked task to the inbox, unassigned: %j", async (body) => {
    expect(await change(owner, task, { ...body, comment: "Wait" })).toMatchObject({ ...body, ...INBOX, is_blocked: true });
    expect(await eventsOf(world, task)).toEqual(
      expect.arrayContaining([["task.status_changed", expect.stringMatching(/^Task moved to inbox: /)]]),
    );
    expect(await transitionsOf(world, task.id)).toMatchObject([{ from_status: "in_progress", to_status: "inbox" }]);
  });

  test("a new assignee or a new unfinished dependency returns a task to the inbox", async () => {
    expect(await change(owner, task, { assigned_agent_id: team.second.id })).toMatchObject(INBOX);
    const free = await add({ status: "in_progress", assigned_agent_id: team.worker.id, in_progress_at: PAST });
    expect(await change(owner, free, { depends_on_task_ids: [open.id] })).toMatchObject({
      ...INBOX,
      blocked_by_task_ids: [open.id],
    });
  });

  test("references in the body are checked before a blocked task returns to the inbox, but board rules are not", async () => {
    await setRules(world, team, { block_status_changes_with_pending_approval: true, require_approval_for_done: true });
    await addApproval(world, team.board_id, [task.id]);
    expect(await outcome(owner, task, { assigned_agent_id: crypto.randomUUID() })).toEqual([404, "Not Found"]);
    expect(await change(owner, task, { status: "done" })).toMatchObject(INBOX);
  });

  test("a change without a new status, assignee or dependency keeps the task's status and assignee", async () => {
    const { status, assigned_agent_id } = task;
    const body = { title: "Renamed", description: "D", priority: "high", due_at: "2026-12-24", tag_ids: [], comment: "Hm" };
    const in_progress_at = PAST.toISOString();
    expect(await change(owner, task, body)).toMatchObject({ title: "Renamed", status, assigned_agent_id, in_progress_at });
  });

  test("a task in status blocked, and a task that is moved there, do not return to the inbox", async () => {
    const kept = { status: "blocked", assigned_agent_id: team.worker.id, in_progress_at: PAST.toISOString() };
    expect(await change(owner, task, { status: "blocked" })).toMatchObject(kept);
    expect(await change(owner, task, { assigned_agent_id: team.second.id })).toMatchObject({
      ...kept,
      assigned_agent_id: team.second.id,
    });
    expect(await change(owner, task, { depends_on_task_ids: [open.id] })).toMatchObject({ status: "blocked" });
  });

  test("a change is applied normally once all dependencies are finished", async () => {
    expect(await change(owner, task, { depends_on_task_ids: [], status: "review" })).toMatchObject({ status: "review" });
    const other = await add();
    await addDependencies(world, other, [open]);
    await change(owner, open, { status: "done" });
    expect(await change(owner, other, { status: "in_progress" })).toMatchObject({ status: "in_progress", is_blocked: false });
  });

  test("a done task with an unfinished dependency stays done, and goes to the inbox when it is reopened", async () => {
    const done = await add({ status: "done", assigned_agent_id: team.worker.id, in_progress_at: PAST, done_at: PAST });
    await addDependencies(world, done, [open]);
    const same = await change(owner, done, { status: "done", assigned_agent_id: team.second.id });
    expect(same).toMatchObject({ status: "done", assigned_agent_id: team.second.id, is_blocked: false, blocked_by_task_ids: [] });
    expect(await change(owner, done, { status: "in_progress" })).toMatchObject({ ...INBOX, is_blocked: true });
    const row = await getTask(world, done.id);
    expect([row.done_at, row.left_done_at]).toEqual([null, expect.any(Date)]);
  });
});

describe("an agent's change of a task with an unfinished dependency", () => {
  test("an agent may move a task with an unfinished dependency only to inbox or blocked", async () => {
    const [open, finished] = [await add(), await add({ status: "done" })];
    for (const [who, assigned_agent_id] of [
      [worker, team.worker.id],
      [main, team.main.id],
      [lead, team.worker.id],
    ] as const)
      for (const from of STATUSES)
        for (const to of STATUSES) {
          const task = await add({ status: from, assigned_agent_id });
          await addDependencies(world, task, [finished, open]);
          const may = to === "inbox" || to === "blocked" || (from === "done" && to === "done");
          const outcome = await outcomeOf(world, who, task, { status: to });
          expect([from, to, outcome]).toEqual([from, to, may ? [200, to] : blockedBy(open.id)]);
        }
  });

  test("an agent may comment on a blocked task", async () => {
    const open = await add();
    const task = await add({ status: "in_progress", assigned_agent_id: team.worker.id });
    await addDependencies(world, task, [open]);
    for (const who of [worker, main, lead]) expect((await change(who, task, { comment: "Waiting" })).status).toBe("in_progress");
  });

  test("a lead may unassign a blocked task and may not assign it", async () => {
    const open = await add();
    for (const status of ["inbox", "blocked", "in_progress"] as const) {
      const task = await add({ status, assigned_agent_id: team.second.id });
      await addDependencies(world, task, [open]);
      expect(await outcome(lead, task, { assigned_agent_id: team.worker.id })).toEqual(blockedBy(open.id));
      expect(await outcome(lead, task, { assigned_agent_id: team.worker.id, status: "blocked" })).toEqual(blockedBy(open.id));
      expect((await change(lead, task, { assigned_agent_id: null })).assigned_agent_id).toBeNull();
    }
  });

  test("a lead may add an unfinished dependency only if the task is then in the inbox or blocked", async () => {
    const open = await add();
    const body = { depends_on_task_ids: [open.id] };
    for (const [status, outcome] of [
      ["inbox", [200, "inbox"]],
      ["blocked", [200, "blocked"]],
      ["in_progress", blockedBy(open.id)],
      ["review", blockedBy(open.id)],
      ["done", [409, "Cannot change task dependencies after a task is done."]],
    ] as const) {
      const task = await add({ status });
      expect([status, await outcomeOf(world, lead, task, body)]).toEqual([status, outcome]);
      expect(await change(lead, task, { ...body, status: "inbox" })).toMatchObject({ status: "inbox", is_blocked: true });
    }
  });
});
