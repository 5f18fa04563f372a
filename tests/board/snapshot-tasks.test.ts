import {
  approval_task_links,
  approvals,
  board_task_custom_fields,
  tag_assignments,
  tags,
  task_custom_field_definitions,
  task_custom_field_values,
  task_dependencies,
  tasks,
} from "@board/core/schema/all-tables";
import { sql } from "drizzle-orm";
import { expect, test } from "vitest";
import { addTasks } from "../support/task.ts";
import { addBoard } from "../support/board.ts";
import { actAsMainAgent } from "../support/main-agent.ts";
import { setupWorld } from "../support/fixtures.ts";

const world = await setupWorld();
const home = await world.tenant("home");

type Task = typeof tasks.$inferInsert;
const snapshot = (board_id: string) => world.call("GET", `/api/v1/boards/${board_id}/snapshot`, { token: home.owner.token });
const addField = async (key: string, board_ids: string[], default_value: unknown) => {
  const field = {
    organization_id: home.organization_id,
    field_key: key,
    label: key,
    field_type: "json" as const,
    ui_visibility: "always" as const,
    default_value,
  };
  const [row] = await world.db.insert(task_custom_field_definitions).values(field).returning();
  for (const board_id of board_ids) await world.db.insert(board_task_custom_fields).values({ board_id, definition_id: row!.id });
  return row!.id;
};

test("a snapshot task has every field of a task that is read by its id, and also its assignee's name and its approvals", async () => {
  const { board_id, agent } = await addBoard(world, home, "Records");
  const due_at = new Date("2026-12-31T00:00:00Z");
  const [blocker, finished, task] = await addTasks(world, board_id, [
    { title: "Blocker", status: "in_progress" },
    { title: "Finished", status: "done" },
    {
      title: "All",
      description: "Text",
      status: "review",
      priority: "high",
      due_at,
      in_progress_at: due_at,
      assigned_agent_id: agent.id,
    },
  ]);
  const depend = (task_id: string, depends_on: string[]) =>
    world.db
      .insert(task_dependencies)
      .values(depends_on.map((depends_on_task_id, position) => ({ board_id, task_id, depends_on_task_id, position })));
  await depend(task!.id, [finished!.id, blocker!.id]);
  await depend(finished!.id, [blocker!.id]);
  const labels = ["Second", "First"].map((name) => ({
    organization_id: home.organization_id,
    name,
    slug: name.toLowerCase(),
    color: "00ff00",
  }));
  const [second, first] = await world.db.insert(tags).values(labels).returning();
  await world.db.insert(tag_assignments).values([
    { task_id: task!.id, tag_id: second!.id, position: 1 },
    { task_id: task!.id, tag_id: first!.id, position: 0 },
  ]);
  const shown = (await snapshot(board_id)).body.tasks;
  expect(shown.map(({ title }: Task) => title)).toEqual(["All", "Finished", "Blocker"]);
  const label = ({ id, name, slug, color }: typeof tags.$inferSelect) => ({ id, name, slug, color });
  const by_id = (await world.call("GET", `/api/v1/boards/${board_id}/tasks/${task!.id}`, { token: home.owner.token })).body;
  expect(shown[0]).toEqual({
    ...by_id,
    depends_on_task_ids: [finished!.id, blocker!.id],
    blocked_by_task_ids: [blocker!.id],
    is_blocked: true,
    tags: [label(first!), label(second!)],
    assignee: "Records agent",
    approvals_count: 0,
    approvals_pending_count: 0,
  });
  // A done task is not blocked, whatever happens to its dependencies.
  expect(shown[1]).toMatchObject({
    depends_on_task_ids: [blocker!.id],
    blocked_by_task_ids: [],
    is_blocked: false,
    assignee: null,
  });
});

test("a snapshot task has each custom field of its board: its value, including null, or the default", async () => {
  const { board_id } = await addBoard(world, home, "Fields");
  const other = (await addBoard(world, home, "Unbound")).board_id;
  const [task] = await addTasks(world, board_id, [{}]);
  const set = await addField("set", [board_id], "default");
  const cleared = await addField("cleared", [board_id, other], { a: 1 });
  const json_null = await addField("json_null", [board_id], 5);
  await addField("defaulted", [board_id], ["x", 1, null]);
  await addField("empty", [board_id], null);
  const elsewhere = await addField("elsewhere", [other], 1);
  await world.db.insert(task_custom_field_values).values([
    { task_id: task!.id, definition_id: set, value: { deep: [1.5, false, "5"] } },
    { task_id: task!.id, definition_id: cleared, value: null },
    { task_id: task!.id, definition_id: elsewhere, value: "hidden" },
  ]);
  await world.db
    .insert(task_custom_field_values)
    .values({ task_id: task!.id, definition_id: json_null, value: sql`'null'::jsonb` });
  expect((await snapshot(board_id)).body.tasks[0].custom_field_values).toEqual({
    set: { deep: [1.5, false, "5"] },
    cleared: null,
    json_null: null,
    defaulted: ["x", 1, null],
    empty: null,
  });
});

test("a snapshot task names the gateway's main agent when it is the assignee", async () => {
  const { board_id } = await addBoard(world, home, "Main");
  const main = await actAsMainAgent(world, home.gateway_id);
  await addTasks(world, board_id, [{ assigned_agent_id: main.id }]);
  expect((await snapshot(board_id)).body.tasks[0]).toMatchObject({ assignee: "home host Gateway Agent" });
});

test("a snapshot task has the number of its approvals and of its pending approvals", async () => {
  const { board_id } = await addBoard(world, home, "Counts");
  const [task, other] = await addTasks(world, board_id, [{}, {}]);
  for (const status of ["approved", "rejected", "pending"] as const) {
    const [approval] = await world.db.insert(approvals).values({ board_id, action_type: "Do", status }).returning();
    const linked = status === "approved" ? [task!, other!] : [task!];
    await world.db
      .insert(approval_task_links)
      .values(
        linked.map(({ id }, position) => ({ approval_id: approval!.id, task_id: id, position, pending: status === "pending" })),
      );
  }
  const shown = (await snapshot(board_id)).body;
  expect(shown.tasks).toMatchObject([
    { id: other!.id, approvals_count: 1, approvals_pending_count: 0 },
    { id: task!.id, approvals_count: 3, approvals_pending_count: 1 },
  ]);
  expect(shown.pending_approvals_count).toBe(1);
});
