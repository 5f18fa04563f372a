import { activity_events, organization_board_access } from "@board/core/db/schema";
import { type TaskRow } from "./task.ts";
import type { Person, Tenant, World } from "./world.ts";

export const FEED = "/api/v1/activity/task-comments";

/** A comment as a person of the tenant sends it. Returns its id. */
export async function say(world: World, { owner }: Tenant, task: TaskRow, message: string): Promise<string> {
  const path = `/api/v1/boards/${task.board_id}/tasks/${task.id}/comments`;
  const said = await world.call("POST", path, { token: owner.token, body: { message } });
  if (said.status !== 200) throw new Error(`${path}: ${said.status} ${said.text}`);
  return said.body.id;
}

/** Comments as an import or the past may have left them. */
export async function storeComments(
  world: World,
  { organization_id }: Tenant,
  task: TaskRow | null,
  comments: (Partial<typeof activity_events.$inferInsert> & { message: string | null })[],
): Promise<string[]> {
  const place = { organization_id, event_type: "task.comment", board_id: task?.board_id ?? null, task_id: task?.id ?? null };
  const rows = await world.db
    .insert(activity_events)
    .values(comments.map((comment) => ({ ...place, ...comment })))
    .returning();
  return rows.map(({ id }) => id);
}

/** A plain member who may read the boards named, and no other. */
export async function reader(world: World, { organization_id }: Tenant, name: string, board_ids: string[]) {
  const person = await world.person(name);
  const member_id = await world.join(person, organization_id, "member");
  await grant(world, member_id, board_ids);
  return { ...person, member_id };
}
export type Reader = Person & { member_id: string };

export async function grant(world: World, organization_member_id: string, board_ids: string[]): Promise<void> {
  if (board_ids.length === 0) return;
  await world.db
    .insert(organization_board_access)
    .values(board_ids.map((board_id) => ({ organization_member_id, board_id, can_read: true, can_write: false })));
}
