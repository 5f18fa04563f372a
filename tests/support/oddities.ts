import { countNewEvents } from "@board/core/activity/sweep";
import { activity_events, approval_task_links, approvals, task_transitions } from "@board/core/db/schema";
import { type Ids, sender } from "./furnishing.ts";
import { addTask } from "./task.ts";
import type { Tenant, World } from "./world.ts";

/**
 * What should not be, or is no more: on one board, and of another one. Nothing of it counts. Returns the task of the home
 * board that it is about, which has no marks: approvals show the titles of their tasks.
 */
export async function tangle(world: World, { board_id, lead_id }: Ids, elsewhere: Ids, theirs: Ids): Promise<string> {
  const { db } = world;
  const { id: task_id } = await addTask(world, { board_id: board_id! }, { status: "review" });
  const moved = { board_id: board_id!, agent_id: elsewhere.agent_id!, to_status: "review" };
  await db.insert(task_transitions).values({ task_id, ...moved, at: new Date() });
  for (const { board_id } of [elsewhere, theirs]) await addTask(world, { board_id: board_id! }, { assigned_agent_id: lead_id! });
  const approved = { board_id: elsewhere.board_id!, status: "approved" as const, resolved_at: new Date() };
  const [approval] = await db
    .insert(approvals)
    .values({ ...approved, action_type: "Close" })
    .returning();
  await db.insert(approval_task_links).values({ approval_id: approval!.id, task_id, position: 0, pending: false });
  return task_id;
}

/**
 * What figures are made of: errors of an earlier hour, which are counted, of this one, and of after the count; work that
 * took hours; and events without a board. The home board has none of it.
 */
export async function addFigures(world: World, tenants: readonly Tenant[], { board_id, organization_id }: Ids): Promise<void> {
  const { db } = world;
  const now = Date.now();
  const failed = (created_at: Date) => ({
    organization_id: organization_id!,
    board_id: board_id!,
    event_type: "board.lead_notify_failed",
    created_at,
  });
  const boardless = tenants.map((tenant) => ({ organization_id: tenant.organization_id, event_type: "gateway.connected" }));
  const ago = (hours: number) => new Date(now - hours * 3_600_000);
  await db.insert(activity_events).values([...boardless, failed(ago(3)), failed(new Date(now))]);
  await countNewEvents(world.context());
  await db.insert(activity_events).values([failed(ago(3)), failed(new Date(now))]);
  const done = { board_id: board_id!, from_status: "in_progress", to_status: "done", at: new Date(now), in_progress_at: ago(5) };
  await db.insert(task_transitions).values(done);
}

/** One more gateway of the same host, with its main agent. */
export async function addGateway(world: World, { owner }: Tenant, name: string, url: string): Promise<string> {
  const host = { name, url, workspace_root: "/srv/agents", token: "test-token-123" };
  return (await sender(world, owner)("POST", "/api/v1/gateways", host)).id;
}

/** A field that the home board had, with a value that is still there, and another board has now. */
export async function moveField(
  world: World,
  home: Tenant,
  task_id: string,
  boards: { home: string; elsewhere: string },
): Promise<string> {
  const send = sender(world, home.owner);
  const field = await send("POST", "/organizations/me/custom-fields", { field_key: "moved", board_ids: [boards.home] });
  await send("PATCH", `/api/v1/boards/${boards.home}/tasks/${task_id}`, { custom_field_values: { moved: "x" } });
  await send("PATCH", `/organizations/me/custom-fields/${field.id}`, { board_ids: [boards.elsewhere] });
  return field.id;
}
