import { board_groups, boards } from "@board/core/schema/all-tables";
import { inArray } from "drizzle-orm";
import type { Tenant, World } from "./world.ts";

/** Creates a group with these boards of a tenant, without notifying their agents. */
export async function addGroup(world: World, tenant: Tenant, name: string, board_ids: string[]): Promise<string> {
  const { organization_id } = tenant;
  const [group] = await world.db.insert(board_groups).values({ organization_id, name, slug: crypto.randomUUID() }).returning();
  if (board_ids.length > 0) await world.db.update(boards).set({ board_group_id: group!.id }).where(inArray(boards.id, board_ids));
  return group!.id;
}

/** Returns the path of a group's memory. `boardMemoryPath` returns the other path to it, through one of the group's boards. */
export const groupMemoryPath = (group_id: string, query = "") => `/api/v1/board-groups/${group_id}/memory${query}`;
export const boardMemoryPath = (board_id: string, query = "") => `/api/v1/boards/${board_id}/group-memory${query}`;
