import { activity_events, organization_board_access } from "@board/core/schema/all-tables";
import type { TaskRow } from "./task.ts";
import type { Person, Tenant, World } from "./world.ts";

export const FEED = "/api/v1/activity/task-comments";

/** Posts a comment as the tenant's owner and returns its id. */
export async function postComment(world: World, { owner }: Tenant, task: TaskRow, message: string): Promise<string> {
  const path = `/api/v1/boards/${task.board_id}/tasks/${task.id}/comments`;
  const answer = await world.call("POST", path, { token: owner.token, body: { message } });
  if (answer.status !== 200) throw new Error(`${path}: ${answer.status} ${answer.text}`);
  return answer.body.id;
}

/** Stores comments directly, for example with a time in the past. */
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

/** Adds a member who may read only the given boards. */
export async function addReader(world: World, { organization_id }: Tenant, name: string, board_ids: string[]) {
  const person = await world.person(name);
  const member_id = await world.join(person, organization_id, "member");
  await grantRead(world, member_id, board_ids);
  return { ...person, member_id };
}
export type Reader = Person & { member_id: string };

export async function grantRead(world: World, organization_member_id: string, board_ids: string[]): Promise<void> {
  if (board_ids.length === 0) return;
  await world.db
    .insert(organization_board_access)
    .values(board_ids.map((board_id) => ({ organization_member_id, board_id, can_read: true, can_write: false })));
}
