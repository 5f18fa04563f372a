/** Assignees of work that comes to review, and of work that the lead sends back. */
import { agents } from "@board/core/schema/all-tables";
import { eq } from "drizzle-orm";
import { expect, test } from "vitest";
import { addBoard } from "../support/board.ts";
import { addTransition, addWorker, createTeam, openTeamFixture, patchTask } from "../support/task-rules.ts";
import { addTask, type TaskRow } from "../support/task.ts";
import { setup } from "../support/fixtures.ts";

const { world, team, owner, worker, lead, main, add, change } = await setup(openTeamFixture());

const PAST = new Date("2026-01-05T08:00:00.000Z");
const sendBack = async (task: TaskRow, sent?: string | null) =>
  (await change(lead, task, { status: "inbox", assigned_agent_id: sent })).assigned_agent_id;
const minute = (index: number) => new Date(PAST.getTime() + index * 60_000);
const TO_REVIEW = ["in_progress", "review"] as const;

test("rework goes to the worker that moved the task to review, even when the lead names another worker", async () => {
  for (const sent of [undefined, null, team.second.id]) {
    const task = await add();
    await change(worker, task, { status: "in_progress" });
    expect((await change(worker, task, { status: "review" })).assigned_agent_id).toBe(team.lead.id);
    expect(await sendBack(task, sent)).toBe(team.worker.id);
  }
});

test("rework goes to the last worker that moved the task to review, never to a lead", async () => {
  const task = await add({ status: "review", assigned_agent_id: team.lead.id });
  await addTransition(world, task, TO_REVIEW, team.worker, minute(1));
  await addTransition(world, task, TO_REVIEW, team.second, minute(2));
  await addTransition(world, task, ["review", "inbox"], team.worker, minute(3));
  await addTransition(world, task, TO_REVIEW, team.lead, minute(4));
  expect(await sendBack(task)).toBe(team.second.id);
});

test("rework is unassigned when a person, the lead or a main agent moved the task to review", async () => {
  const moved = await add({ status: "in_progress", assigned_agent_id: team.worker.id });
  await change(owner, moved, { status: "review" });
  expect(await sendBack(moved, team.second.id)).toBeNull();
  const own = await add({ status: "in_progress", assigned_agent_id: team.worker.id });
  await change(lead, own, { status: "review" });
  expect(await sendBack(own)).toBeNull();
  const visitor = await add({ status: "in_progress" });
  await change(main, visitor, { status: "review" });
  expect(await sendBack(visitor)).toBeNull();
});

test("rework is unassigned when the worker left the board or was deleted", async () => {
  const leaver = await addWorker(world, team, "Leaver");
  const task = await add({ status: "review" });
  await addTransition(world, task, TO_REVIEW, leaver, minute(1));
  const elsewhere = await addBoard(world, team);
  await world.db.update(agents).set({ board_id: elsewhere.board_id }).where(eq(agents.id, leaver.id));
  expect(await sendBack(task, team.second.id)).toBeNull();
  const other = await add({ status: "review" });
  await addTransition(world, other, TO_REVIEW, leaver, minute(1));
  await world.db.delete(agents).where(eq(agents.id, leaver.id));
  expect(await sendBack(other)).toBeNull();
});

test("only rework by a lead returns to the worker: a person chooses the assignee, and a worker unassigns the task", async () => {
  const addTaskInReview = async () => {
    const task = await add({ status: "review" });
    await addTransition(world, task, TO_REVIEW, team.second, minute(1));
    return task;
  };
  expect((await change(owner, await addTaskInReview(), { status: "inbox" })).assigned_agent_id).toBeNull();
  const reassigned = { status: "inbox", assigned_agent_id: team.worker.id };
  expect((await change(owner, await addTaskInReview(), reassigned)).assigned_agent_id).toBe(team.worker.id);
  expect((await change(worker, await addTaskInReview(), { status: "inbox" })).assigned_agent_id).toBeNull();
});

test("a task that moves to review on a board without a lead gets the assignee that a person names, and otherwise none", async () => {
  const leaderless = await createTeam(world, "leaderless");
  await world.db.update(agents).set({ is_board_lead: false }).where(eq(agents.id, leaderless.lead.id));
  const { owner, worker, second } = leaderless;
  for (const status of ["inbox", "in_progress", "done", "blocked"] as const)
    for (const [who, sent, assignee] of [
      [{ token: owner.token }, second.id, second.id],
      [{ token: owner.token }, undefined, null],
      [{ token: owner.token }, null, null],
      [{ agent: worker.token }, undefined, null],
      [{ agent: worker.token }, worker.id, null],
    ] as const) {
      const task = await addTask(world, leaderless, { status, assigned_agent_id: worker.id });
      const { body } = await patchTask(world, who, task, { status: "review", assigned_agent_id: sent });
      expect([body.status, body.assigned_agent_id], status).toEqual(["review", assignee]);
    }
});
