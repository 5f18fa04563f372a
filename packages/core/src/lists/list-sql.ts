import { type SQL, sql } from "drizzle-orm";
import type { PgColumn, PgTable } from "drizzle-orm/pg-core";
import type { Db } from "../context/db.ts";
import type { SortOrder } from "./keyset.ts";
import type { LargeFields, PageColumns } from "./large-fields.ts";
import { rowsWithWords } from "./text-search.ts";

export type Columns = Record<string, PgColumn | SQL>;

interface Join {
  table: PgTable;
  on: SQL;
  /** If true, rows without a match are kept (a left join). */
  optional?: boolean;
}

/** The parts of a list from which its SQL is built. `Row` is the type of the selected rows. */
export interface ListSource<Row = never> {
  table: PgTable & { id: PgColumn };
  joins?: readonly Join[];
  columns: Columns;
  large?: LargeFields;
  /** The expression for the words that the parameter `q` searches. It must equal the expression of the index. */
  words?: SQL;
  /** Set this if one owner may have tens of thousands of rows in the table; see `buildSearch`. */
  scan?: {
    /** A text that contains all words with which a search can find the row. */
    text: SQL;
    /** The orders that have an index beginning with the owner. */
    orders: readonly SortOrder<Row>[];
  };
  /** Set this if an index has all keys of the order. An offset then skips index entries instead of whole rows. */
  skips_in_index?: boolean;
}

/** With `count=limited`, counting stops at this number. */
export const MAX_COUNTED = 1_000;
export const beyondCounted: SQL = sql.raw(String(MAX_COUNTED + 1));

export const placeholderOf = (name: string) => sql`${sql.placeholder(name)}`;

/**
 * Returns a subquery of the rows that a search finds. It is named like the table, so that all conditions and sort keys apply to it
 * unchanged.
 */
export const foundRows = ({ table, words }: ListSource): SQL =>
  sql`${rowsWithWords(table, words!, sql.placeholder("words"))} as ${table}`;

export const joinsOf = ({ joins = [] }: ListSource): SQL =>
  sql.join(joins.map(({ table, on, optional }) => sql` ${sql.raw(optional ? "left join" : "join")} ${table} on ${on}`));

export function countOf(list: ListSource, source: SQL, where: SQL, is_limited: boolean): SQL<number> {
  const from = sql`from ${source}${joinsOf(list)} where ${where}`;
  const counted = is_limited ? sql`from (select 1 ${from} limit ${beyondCounted}) as counted` : from;
  return sql<number>`(select count(*) ${counted})`.mapWith(Number);
}

export function selectFrom(db: Pick<Db, "select">, { table, joins = [] }: ListSource, columns: PageColumns) {
  let query = db.select(columns).from(table).$dynamic();
  for (const { table, on, optional } of joins)
    query = (optional ? query.leftJoin(table, on) : query.innerJoin(table, on)) as never;
  return query;
}
