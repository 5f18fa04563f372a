import {
  approval_task_links,
  approvals,
  tag_assignments,
  tags,
  task_custom_field_definitions,
  task_custom_field_values,
  task_dependencies,
  task_transitions,
  tasks,
} from "@board/core/schema/all-tables";
import { and, eq, isNull } from "drizzle-orm";
import { expect, test } from "vitest";
import { listEvents } from "../support/activity.ts";
import { listApprovalLinks } from "../support/approval.ts";
import {
  addApproval,
  addComment,
  agentTaskPath,
  changeTask,
  eventsOf,
  addDependencies,
  recordNotices,
  openTeamFixture,
  STATUSES,
  taskEvents,
  taskPath,
  transitionsOf,
  type Credential,
} from "../support/task-rules.ts";
import type { TaskRow } from "../support/task.ts";
import { setup } from "../support/fixtures.ts";

const { world, team, owner, lead, add } = await setup(openTeamFixture());

const PAST = new Date("2026-01-05T08:00:00.000Z");
const remove = (who: Credential, { id }: { id: string }) =>
  world.call("DELETE", "agent" in who ? agentTaskPath(team, id) : taskPath(team, id), who);
async function removed(who: Credential, task: TaskRow): Promise<void> {
  const answer = await remove(who, task);
  expect([answer.status, answer.body]).toEqual([200, { ok: true }]);
}
const BOTH = () => [owner, lead];
const byOf = (who: Credential) =>
  who === owner ? { user_id: team.owner_id, agent_id: null } : { user_id: null, agent_id: team.lead.id };

test("a deleted task of any status is not found, and its own records are deleted", async () => {
  const { organization_id, board_id } = team;
  const [tag] = await world.db.insert(tags).values({ organization_id, name: "T", slug: "t", color: "ffffff" }).returning();
  const field = { organization_id, field_key: "size", label: "Size", field_type: "text", ui_visibility: "always" } as const;
  const [definition] = await world.db.insert(task_custom_field_definitions).values(field).returning();
  for (const who of BOTH())
    for (const status of STATUSES) {
      const [task, other] = [await add({ status, assigned_agent_id: team.worker.id }), await add()];
      await world.db.insert(tag_assignments).values({ task_id: task.id, tag_id: tag!.id, position: 0 });
      await world.db.insert(task_custom_field_values).values({ task_id: task.id, definition_id: definition!.id, value: "XL" });
      await addDependencies(world, task, [other]);
      await removed(who, task);
      expect((await world.call("GET", taskPath(team, task.id), owner)).status).toBe(404);
      expect((await world.call("GET", `${taskPath(team, task.id)}/comments`, owner)).status).toBe(404);
      expect((await remove(who, task)).status).toBe(404);
      expect((await world.db.select().from(tasks).where(eq(tasks.id, other.id)))[0]).toEqual(other);
    }
  const remaining = await world.db.select().from(task_dependencies).where(eq(task_dependencies.board_id, board_id));
  expect([
    remaining,
    await world.db.select().from(tag_assignments),
    await world.db.select().from(task_custom_field_values),
  ]).toEqual([[], [], []]);
});

test("deleting a task deletes its comments, and its other events stay without the id of the task", async () => {
  for (const who of BOTH()) {
    const task = await add({ title: "Short-lived" });
    const kept = await add({ title: "Kept" });
    await changeTask(world, owner, task, { status: "in_progress", comment: "Soon gone" });
    await addComment(world, team, kept, team.worker, "Stays", PAST);
    const before = await taskEvents(world, team);
    const own = before.filter(({ task_id }) => task_id === task.id);
    expect(own.map(({ event_type }) => event_type)).toEqual(["task.comment", "task.status_changed"]);
    await removed(who, task);
    const [, move] = own;
    const after = await taskEvents(world, team);
    expect(after.filter(({ id }) => own.some((event) => event.id === id))).toEqual([{ ...move, task_id: null }]);
    const others = before.filter(({ task_id }) => task_id !== task.id);
    expect(after.filter(({ id }) => others.some((event) => event.id === id))).toEqual(others);
    expect(after.slice(before.length - 1)).toMatchObject([
      { event_type: "task.deleted", message: "Task deleted: Short-lived.", task_id: null, board_id: team.board_id, ...byOf(who) },
    ]);
  }
});

test("deleting a task records a last transition from the status that the task had", async () => {
  for (const who of BOTH()) {
    const task = await add({ status: "review", in_progress_at: PAST });
    await changeTask(world, owner, task, { status: "in_progress" });
    const [move] = await transitionsOf(world, task.id);
    const unnamed = () =>
      world.db
        .select()
        .from(task_transitions)
        .where(and(eq(task_transitions.board_id, team.board_id), isNull(task_transitions.task_id)));
    const before = await unnamed();
    await removed(who, task);
    const rows = (await unnamed()).filter(({ id }) => before.every((row) => row.id !== id));
    expect(rows.toSorted((a, b) => a.at.getTime() - b.at.getTime())).toMatchObject([
      { ...move, task_id: null },
      { from_status: "in_progress", to_status: null, in_progress_at: PAST, ...byOf(who) },
    ]);
  }
});

test("tasks that depended on a deleted task lose this dependency and get one event, and nothing else changes", async () => {
  for (const who of BOTH()) {
    const [task, other] = [await add({ title: "Gone" }), await add()];
    const dependents = [];
    for (const status of STATUSES)
      dependents.push(await add({ status, assigned_agent_id: team.worker.id, in_progress_at: PAST }));
    for (const dependent of dependents) await addDependencies(world, dependent, [task, other]);
    const bystander = await add();
    await addDependencies(world, bystander, [other]);
    await removed(who, task);
    for (const dependent of dependents) {
      expect((await world.db.select().from(tasks).where(eq(tasks.id, dependent.id)))[0]).toEqual(dependent);
      const shown = (await world.call("GET", taskPath(team, dependent.id), owner)).body;
      expect(shown.depends_on_task_ids).toEqual([other.id]);
      expect(await eventsOf(world, dependent)).toEqual([["task.updated", "Dependency removed: Gone."]]);
    }
    expect(await eventsOf(world, bystander)).toEqual([]);
  }
});

test("an approval whose primary task is deleted names its next task, or none, and is not streamed again", async () => {
  for (const who of BOTH()) {
    const [task, second, third] = [await add(), await add(), await add()];
    const first = await addApproval(world, team.board_id, [task.id, third.id, second.id]);
    const alone = await addApproval(world, team.board_id, [task.id], { status: "rejected", resolved_at: PAST });
    const later = await addApproval(world, team.board_id, [second.id, task.id], { status: "approved", resolved_at: PAST });
    const read = async (id: string) => (await world.db.select().from(approvals).where(eq(approvals.id, id)))[0]!;
    const before = { first: await read(first), alone: await read(alone), later: await read(later) };
    await removed(who, task);
    const { updated_at } = await read(first);
    expect(await read(first)).toEqual({ ...before.first, task_id: third.id, updated_at });
    expect(await read(alone)).toMatchObject({ task_id: null, status: "rejected", change_seq: before.alone.change_seq });
    expect(await read(later)).toEqual(before.later);
    expect([
      await listApprovalLinks(world, first),
      await listApprovalLinks(world, alone),
      await listApprovalLinks(world, later),
    ]).toEqual([
      [
        [third.id, true],
        [second.id, true],
      ],
      [],
      [[second.id, false]],
    ]);
    expect(await world.db.select().from(approval_task_links).where(eq(approval_task_links.task_id, task.id))).toEqual([]);
    await removed(who, third);
    expect((await read(first)).task_id).toBe(second.id);
    await removed(who, second);
    expect([(await read(first)).task_id, (await read(later)).task_id]).toEqual([null, null]);
  }
});

test("deleting a task notifies no agent", async () => {
  for (const who of BOTH()) {
    const task = await add({ assigned_agent_id: team.worker.id, status: "in_progress" });
    await addDependencies(world, await add({ assigned_agent_id: team.second.id }), [task]);
    const readNotices = await recordNotices(world, team);
    await removed(who, task);
    expect(await readNotices()).toEqual([]);
  }
});

test("a deletion whose records cannot be stored is undone", async () => {
  const task = await add();
  await addComment(world, team, task, team.worker, "Stays", PAST);
  await world.db.execute(`create function refuse() returns trigger language plpgsql as 'begin raise exception ''no''; end'`);
  await world.db.execute("create trigger refuse before insert on task_transitions for each row execute function refuse()");
  const failed = await remove(owner, task);
  await world.db.execute("drop function refuse() cascade");
  const comments = await listEvents(world, { task_id: task.id });
  expect([failed.status, comments.length, (await remove(owner, task)).status]).toEqual([500, 1, 200]);
});
