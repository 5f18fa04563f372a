import { countNewEvents } from "@board/core/activity/counted-events";
import { countNewTransitions } from "@board/core/metrics/counted-transitions";
import {
  activity_day_counts,
  activity_events,
  approval_task_links,
  approvals,
  changes,
  task_transitions,
} from "@board/core/schema/all-tables";
import { addMs, HOUR_MS, startOfHour } from "@board/core/values/time";
import { eq } from "drizzle-orm";
import { type Ids, createSender } from "./seed-tenant.ts";
import { addTask } from "../../support/task.ts";
import type { Tenant, World } from "../../support/world.ts";

/**
 * Stores inconsistent or outdated rows that mix two boards and must have no effect. Returns the id of the task on the home board.
 * Its title does not name its board, because an approval on the other board shows the title and would look like a leak.
 */
export async function seedMismatchedReferences(
  world: World,
  { board_id, lead_id }: Ids,
  elsewhere: Ids,
  theirs: Ids,
): Promise<string> {
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

const YEAR_HOURS = 365 * 24;

/**
 * Stores data for metrics on other boards: errors of an earlier hour, of this hour and after the count, work that took hours, moves
 * at the start of the longest range and of the range before it, and events without a board. Further events are at the ends of the
 * hours in which the shortest range begins and ends. The home board has an event of another day, but no counts by day.
 */
export async function seedMetrics(world: World, tenants: readonly Tenant[], { board_id, organization_id }: Ids): Promise<void> {
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
  const ends = [0, 24].map((hours) => addMs(startOfHour(ago(hours)), HOUR_MS - 1));
  const home = { organization_id: tenants[0]!.organization_id, board_id: tenants[0]!.board_id };
  await db.insert(activity_events).values([failed(ago(75)), ...ends.map(failed), { ...failed(ago(75)), ...home }]);
  await countNewEvents(world.context());
  await db.delete(activity_day_counts).where(eq(activity_day_counts.board_id, home.board_id));
  await db.insert(activity_events).values([failed(ago(3)), failed(new Date(now))]);
  const reviewed = { board_id: board_id!, from_status: "in_progress", to_status: "review", in_progress_at: ago(90) };
  const counted = [2 * YEAR_HOURS - 12, YEAR_HOURS - 12, 75, 26, 3];
  const times = [...counted.map(ago), ...ends];
  await db.insert(task_transitions).values(times.map((at) => ({ ...reviewed, at })));
  await countNewTransitions(world.context());
  await db.insert(task_transitions).values([75, 3].map((hours) => ({ ...reviewed, at: ago(hours) })));
  // Except for its board, the row looks like a later move of the same task.
  await db.insert(task_transitions).values({ ...reviewed, board_id: home.board_id, at: ago(2) });
  const done = { board_id: board_id!, from_status: "in_progress", to_status: "done", at: new Date(now), in_progress_at: ago(5) };
  await db.insert(task_transitions).values(done);
}

/** Stores an inconsistent entry of the changes feed: its board belongs to another organization than the entry. */
export async function seedMismatchedChange({ db }: World, { board_id }: Ids, { organization_id }: Ids): Promise<void> {
  const task = { type: "task" as const, action: "created" as const, id: crypto.randomUUID() };
  await db.insert(changes).values({ organization_id: organization_id!, board_id: board_id!, ...task });
}

/** Adds a board and removes it, which the changes feed shows to those who could read it. */
export async function addRemovedBoard(world: World, { owner, gateway_id }: Tenant): Promise<Ids> {
  const send = createSender(world, owner);
  const { id } = await send("POST", "/api/v1/boards", { name: "Removed", description: "Removed", gateway_id });
  await send("DELETE", `/api/v1/boards/${id}`);
  return { removed_board_id: id };
}

/** Adds a gateway for the host at `url`, with its main agent. */
export async function addGateway(world: World, { owner }: Tenant, name: string, url: string): Promise<string> {
  const host = { name, url, workspace_root: "/srv/agents", token: "test-token-123" };
  return (await createSender(world, owner)("POST", "/api/v1/gateways", host)).id;
}

/** Adds a field that moved from the home board to another board but still has a value on the home board. */
export async function moveField(
  world: World,
  home: Tenant,
  task_id: string,
  boards: { home: string; elsewhere: string },
): Promise<string> {
  const send = createSender(world, home.owner);
  const field = await send("POST", "/organizations/me/custom-fields", { field_key: "moved", board_ids: [boards.home] });
  await send("PATCH", `/api/v1/boards/${boards.home}/tasks/${task_id}`, { custom_field_values: { moved: "x" } });
  await send("PATCH", `/organizations/me/custom-fields/${field.id}`, { board_ids: [boards.elsewhere] });
  return field.id;
}
