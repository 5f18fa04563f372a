import { tasks } from "@board/core/schema/all-tables";
import type { World } from "./world.ts";

export type TaskRow = typeof tasks.$inferSelect;

/** Stores a task on the tenant's board without an event or a notice. */
export async function addTask(
  world: World,
  { board_id }: { board_id: string },
  fields: Partial<typeof tasks.$inferInsert> = {},
): Promise<TaskRow> {
  const [row] = await world.db
    .insert(tasks)
    .values({ board_id, title: "Task", ...fields })
    .returning();
  return row!;
}

/** Stores tasks a second apart, in the order given. */
export const addTasks = (world: World, board_id: string, list: Partial<typeof tasks.$inferInsert>[]): Promise<TaskRow[]> =>
  world.db
    .insert(tasks)
    .values(list.map((task, index) => ({ board_id, title: `Task ${index}`, created_at: new Date(index * 1000), ...task })))
    .returning();
