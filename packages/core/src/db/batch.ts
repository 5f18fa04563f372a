import { type SQLWrapper, sql } from "drizzle-orm";
import type { Context } from "../context.ts";
import { rowsOf } from "./database.ts";
import { actingActor } from "./acting-as.ts";

/** A write whose rows the other writes of the batch may read by its name. */
export interface NamedWrite {
  name: string;
  query: SQLWrapper;
  /** Gets the values of the column `id` that the write returns. At most one write of a batch has it. */
  onIds?: (ids: string[]) => void;
}

const isNamed = (write: SQLWrapper | NamedWrite): write is NamedWrite => "query" in write && "name" in write;

/**
 * Runs several writes atomically in one round trip, as data-modifying common table expressions of one statement. The writes
 * do not see each other's rows in tables. (Drizzle parenthesizes a query within a query.)
 */
export async function runBatch(ctx: Context, writes: readonly (SQLWrapper | NamedWrite)[]): Promise<void> {
  const parts = writes.map((write, index) =>
    isNamed(write)
      ? sql`${sql.identifier(write.name)} as materialized (${write.query})`
      : sql`${sql.identifier(`write_${index}`)} as ${write}`,
  );
  const returning = writes.filter(isNamed).find(({ onIds }) => onIds);
  const ids = returning ? sql`array(select id from ${sql.identifier(returning.name)})` : sql`null::uuid[]`;
  const result = await ctx.db.execute(sql`with ${sql.join(parts, sql`, `)} select ${actingActor(ctx)}, ${ids} as ids`);
  returning?.onIds?.(rowsOf<{ ids: string[] }>(result)[0]!.ids);
}
