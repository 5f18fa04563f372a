import { type SQLWrapper, sql } from "drizzle-orm";
import type { Context } from "../context.ts";

/**
 * Runs several writes as one statement: all or nothing like a transaction, in one round trip instead of one each and two
 * for BEGIN and COMMIT. (Drizzle puts a query inside a query in parentheses.) The writes do not see each other, and their results are not returned.
 */
export async function writeTogether(ctx: Context, writes: readonly SQLWrapper[]): Promise<void> {
  const parts = writes.map((write, index) => sql`${sql.identifier(`write_${index}`)} as ${write}`);
  await ctx.db.execute(sql`with ${sql.join(parts, sql`, `)} select 1`);
}
