import { and, eq } from "drizzle-orm";
import type { Context } from "../../context/context.ts";
import { runs } from "../../schema/run.sql.ts";
import { leaseLostError } from "../errors.ts";
import type { TaskRow } from "../status-rules.ts";

/** Refuses a write with an outdated fence. `fence` is null if the request did not send one. */
export async function requireFence(
  ctx: Context,
  { id, lease_fence }: Pick<TaskRow, "id" | "lease_fence">,
  fence: number | null,
): Promise<void> {
  if (fence === null || fence === lease_fence) return;
  // A stopped run has a smaller fence. A larger number is not looked up, because it may exceed the range of the column.
  const isStopped = fence < lease_fence && (await wasStopped(ctx, id, fence));
  throw leaseLostError(isStopped ? "stopped" : undefined);
}

async function wasStopped(ctx: Context, task_id: string, fence: number): Promise<boolean> {
  const [run] = await ctx.db
    .select({ id: runs.id })
    .from(runs)
    .where(and(eq(runs.task_id, task_id), eq(runs.fence, fence), eq(runs.status, "stopped")))
    .limit(1);
  return run !== undefined;
}
