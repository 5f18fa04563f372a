import { and, type SQL, sql, WithSubquery } from "drizzle-orm";
import type { Db } from "../context/db.ts";
import { type Filter, preparedWhere } from "./filter.ts";
import { type SortOrder, toOrderBy } from "./keyset.ts";
import type { PageColumns, PageSelect } from "./large-fields.ts";
import {
  beyondCounted,
  type Columns,
  countOf,
  foundRows,
  joinsOf,
  type ListSource,
  MAX_COUNTED,
  placeholderOf,
  selectFrom,
} from "./list-sql.ts";

/** How many of the first rows of a list `searchByScan` checks. If too few of them match, all found rows are sorted instead. */
const MAX_SCANNED = sql.raw("1000");

interface SearchParts {
  filters: readonly Filter[];
  order: SortOrder<never>;
  after: SQL | undefined;
  limit: SQL;
  withTotal: (total: SQL<number>) => Columns;
  /** Null for a page without a total. */
  total: "exact" | "limited" | null;
}

interface Search {
  ctes: Record<string, SQL>;
  ids: SQL;
  total: SQL;
}

/** Checks whether a list can use `searchByScan`. */
const scansFor = ({ scan }: ListSource, order: SortOrder<never>): boolean => scan?.orders.includes(order) ?? false;

/** Builds a search. It finds the ids of the page and the total, and then reads the rows of the page. */
export function buildSearch(db: Db, list: ListSource, parts: SearchParts) {
  const { order, limit, withTotal } = parts;
  const { id } = list.table;
  const { ctes, ids, total } = scansFor(list, order) ? searchByScan(list, parts) : searchAll(list, parts);
  const page = sql`select ${ids} as ids, ${parts.total === null ? sql`null` : total} as total`;
  const tables = Object.entries({ ...ctes, page }).map(([name, query]) => new WithSubquery(query, {}, name, true));
  return {
    fields: withTotal(sql<number>`(select total from page)`.mapWith(Number)),
    select: (columns: PageColumns): PageSelect =>
      selectFrom(db.with(...tables), list, columns)
        .where(sql`${id} = any ((select ids from page)[${placeholderOf("first")}::int:${placeholderOf("last")}::int])`)
        .orderBy(...toOrderBy(order))
        .limit(limit as never),
  };
}

const last = sql`${placeholderOf("last")}::int`;
const keysOf = (order: SortOrder<never>) => sql.join(toOrderBy(order), sql`, `);
const rowsOf = (list: ListSource, source: SQL, conditions: SQL | undefined) =>
  sql`from ${source}${joinsOf(list)} where ${conditions}`;

/**
 * Reads all found rows once. The total is the length of the array with their ids. If no exact total is needed, only the rows up
 * to the end of the page are sorted.
 */
function searchAll(list: ListSource, { filters, order, after, total }: SearchParts): Search {
  const { id } = list.table;
  const from = rowsOf(list, foundRows(list), and(preparedWhere(filters), after));
  const ids =
    total === "exact"
      ? sql`array_agg(${id} order by ${keysOf(order)}) as ids ${from}`
      : sql`array(
    select ${id} ${from} order by ${keysOf(order)} limit ${last}) as ids`;
  const counted = total === "limited" ? countOf(list, foundRows(list), preparedWhere(filters), true) : sql`cardinality(ids)`;
  return {
    ctes: { found: sql`select ${ids}` },
    ids: sql`(select ids from found)`,
    total: sql`(select coalesce(${counted}, 0) from found)`,
  };
}

/**
 * Builds a search that avoids reading all rows with a common word. Up to a limit, the found rows are read and sorted. If there
 * are more found rows, the first rows in the order of the list probably contain enough matches. If they do not, all found rows
 * are sorted.
 */
function searchByScan(list: ListSource, parts: SearchParts): Search {
  const { filters, order, after, total } = parts;
  const { table, words, scan } = list;
  const where = preparedWhere(filters);
  const keys = order.map(({ by }, index) => sql`${by} as ${sql.identifier(`key_${index}`)}`);
  const fewKeys = order.map(({ descending }, index) => sql.raw(`key_${index}${descending ? " desc" : ""}`));
  const few = sql`select ${table.id} as id, ${sql.join(keys, sql`, `)} ${rowsOf(list, foundRows(list), and(where, after))}
    limit ${beyondCounted}`;
  // The owner is the first filter. The other filters are checked on the rows that are read, because there may be no index for
  // them.
  const scannedRows = sql`(select * from ${table} where ${and(preparedWhere(filters.slice(0, 1)), after)}
    order by ${keysOf(order)} limit ${MAX_SCANNED}) as ${table}`;
  // The patterns are compared first, because this is cheap, and most rows that match the patterns also have the words.
  const isFound = sql`lower(${scan!.text}) like all ((select patterns from word_patterns)::text[])
    and ${words!} @@ (select lower(${placeholderOf("words")}::text)::tsquery)`;
  const scanned = sql`select array(select ${table.id} ${rowsOf(list, scannedRows, and(where, isFound))}
    order by ${keysOf(order)} limit ${last}) as ids`;
  const all = searchAll(list, parts);
  const isFew = sql`(select count(*) from few) <= ${sql.raw(String(MAX_COUNTED))}`;
  const isEnough = sql`(select cardinality(ids) >= ${last} from scanned)`;
  const counted = sql`when ${isEnough} then ${countOf(list, foundRows(list), where, false)} else ${all.total}`;
  return {
    ctes: {
      word_patterns: sql`select string_to_array(lower(${placeholderOf("patterns")}::text), ' ') as patterns`,
      few,
      scanned,
      ...all.ctes,
    },
    ids: sql`case when ${isFew} then array(select id from few order by ${sql.join(fewKeys, sql`, `)} limit ${last})
      when ${isEnough} then (select ids from scanned) else ${all.ids} end`,
    total: sql`case when ${isFew} ${total === "limited" ? sql`or true` : sql``} then (select count(*) from few)
      ${total === "limited" ? sql`` : counted} end`,
  };
}
