import { type Placeholder, type SQL, type SQLWrapper, sql } from "drizzle-orm";
import type { Context } from "../context/context.ts";
import type { Db } from "../context/db.ts";
import { actingValue, preparedActor } from "./change-actor.ts";
import { rowsOf } from "./database.ts";
import { createStatement, createStatementCache } from "./prepared.ts";
import type { PreparedWrite } from "./prepared-write.ts";

/** A named write of a batch. The other writes of the batch can read the rows that it returns under this name. */
export interface NamedWrite {
  name: string;
  query: PreparedWrite;
  /** Receives the column `id` of the rows that the write returns. At most one write of a batch can have this callback. */
  onIds?: (ids: string[]) => void;
}

export type Write = SQLWrapper | PreparedWrite | NamedWrite;

const isNamed = (write: Write): write is NamedWrite => "query" in write && "name" in write;
const isPrepared = (write: Write): write is PreparedWrite => "build" in write && "values" in write;
const toPrepared = (write: Write): PreparedWrite | null => (isNamed(write) ? write.query : isPrepared(write) ? write : null);

const statements = createStatementCache();

/**
 * Runs several writes atomically in one round trip, as data-modifying common table expressions of one statement. A write cannot
 * see table rows that another write of the batch changes. It can only read the rows that named writes return. If all writes are
 * prepared, the SQL is built only once.
 */
export async function runBatch(ctx: Context, writes: readonly Write[]): Promise<void> {
  const returning = writes.filter(isNamed).find(({ onIds }) => onIds);
  const build = () => toStatement(ctx.db, writes, returning);
  const key = toKey(writes);
  const statement = key === null ? createStatement(build()) : statements.get(key, build);
  const result = await statement.execute(ctx.db, { ...toValues(writes), ...actingValue(ctx) });
  returning?.onIds?.(rowsOf<{ ids: string[] }>(result)[0]!.ids);
}

/**
 * Returns the cache key of a batch's SQL. Returns null if a write is not prepared, because the SQL is then built for each call.
 */
export function toKey(writes: readonly Write[]): string | null {
  const keys = writes.map((write) => toPrepared(write)?.key);
  return keys.includes(undefined) ? null : keys.join();
}

function toStatement(db: Db, writes: readonly Write[], returning: NamedWrite | undefined): SQL {
  const parts = writes.map((write, index) => {
    const query = toPrepared(write)?.build(db, placeholdersOf(index)) ?? write;
    const [name, materialized] = isNamed(write) ? [write.name, sql`materialized`] : [`write_${index}`, sql``];
    return sql`${sql.identifier(name)} as ${materialized} (${(query as SQLWrapper).getSQL()})`;
  });
  const ids = returning ? sql`array(select id from ${sql.identifier(returning.name)})` : sql`null::uuid[]`;
  return sql`with ${sql.join(parts, sql`, `)} select ${preparedActor}, ${ids} as ids`;
}

/**
 * Returns a function that prefixes the placeholders of a write with its index, because two writes of a batch may have values of the
 * same name.
 */
export const placeholdersOf =
  (index: number) =>
  (name: string): Placeholder =>
    sql.placeholder(`${index}.${name}`);

/** Collects the values of all writes, under the prefixed names that `placeholdersOf` creates. */
export const toValues = (writes: readonly Write[]) =>
  Object.fromEntries(
    writes.flatMap((write, index) =>
      Object.entries(toPrepared(write)?.values ?? {}).map(([name, value]) => [`${index}.${name}`, value]),
    ),
  );
