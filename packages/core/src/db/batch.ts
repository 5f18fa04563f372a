import { type SQLWrapper, sql } from "drizzle-orm";
import type { Context } from "../context.ts";

/**
 * Runs several writes atomically in one round trip, as data-modifying common table expressions of one statement. The writes
 * do not see each other's rows, and their results are not returned. (Drizzle parenthesizes a query within a query.)
 */
export async function runBatch(ctx: Context, writes: readonly SQLWrapper[]): Promise<void> {
  const parts = writes.map((write, index) => sql`${sql.identifier(`write_${index}`)} as ${write}`);
  await ctx.db.execute(sql`with ${sql.join(parts, sql`, `)} select 1`);
}
