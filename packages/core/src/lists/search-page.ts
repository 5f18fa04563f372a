import { and, type SQL, sql, WithSubquery } from "drizzle-orm";
import type { PgColumn } from "drizzle-orm/pg-core";
import type { SelectResultFields } from "drizzle-orm/query-builders/select.types";
import type { Context } from "../context/context.ts";
import { inlineLimit } from "../db/statement-cache.ts";
import { type SortOrder, toOrderBy } from "./keyset.ts";
import { type Page, type PageQuery, type PageWindow, readShortenedPage, type ShortenedPage, type Total } from "./page.ts";
import { rowsWithWords, type Search } from "./text-search.ts";

interface SearchedRows {
  search: Search;
  /** Joins of the tables that `where` needs besides the searched one. */
  joins?: SQL;
  where: SQL | undefined;
  order: SortOrder<never>;
}

interface SearchQuery {
  total: Total;
  /** What selects the rows of the page, in any order. */
  page: (window: PageWindow) => { ctes: WithSubquery[]; where: SQL };
}

/** No list is longer, and the indexes of PostgreSQL's arrays end a little later. */
const MAX_INDEX = 2 ** 30;

const found_ids = sql`(select ids from found)`;
const found_total = sql<number>`(select cardinality(ids) from found)`.mapWith(Number);

/**
 * The total and the pages of a search, whose rows a statement reads only once: their ids become an array in the order of the
 * list, its length is the total, and a part of it is the page.
 */
export function createSearchQuery(ctx: Context, query: PageQuery, { search, joins, where, order }: SearchedRows): SearchQuery {
  const { id, table } = search;
  // The rows have the name of their table, so that all conditions and keys apply to them.
  const found = sql`${rowsWithWords(search)} as ${table} ${joins ?? sql``}`;
  const orderBy = sql.join(toOrderBy(order), sql`, `);
  const total = Object.assign(ctx.db.$count(found, where), { column: found_total });
  const whereAnd = (after?: SQL) => sql`where ${and(where, after) ?? sql`true`}`;
  if (query.cursor !== undefined) {
    const page = ({ after, limit }: PageWindow) =>
      sql`select ${id} from ${found} ${whereAnd(after)} order by ${orderBy} limit ${inlineLimit(limit)}`;
    return { total, page: (window) => ({ ctes: [], where: sql`${id} = any (array(${page(window)}))` }) };
  }
  const ids = sql`select array_agg(${id} order by ${orderBy}) as ids from ${found} ${whereAnd()}`;
  return {
    total,
    page({ limit, offset }) {
      const start = Math.min(offset, MAX_INDEX);
      const part = sql`${found_ids}[${start + 1}::int:${start + limit}::int]`;
      return { ctes: [new WithSubquery(ids, {}, "found", true)], where: sql`${id} = any (${part})` };
    },
  };
}

type SearchPage<F extends Record<string, PgColumn | SQL>> = SearchedRows & Omit<ShortenedPage<F>, "total" | "select">;

/** Reads a page of what a search finds, as `readShortenedPage` reads a page of a whole list. */
export function readSearchPage<F extends Record<string, PgColumn | SQL>, T extends object>(
  ctx: Context,
  query: PageQuery,
  { search, joins, where, ...list }: SearchPage<F>,
  toItem: (row: SelectResultFields<F>) => T,
): Promise<Page<T>> {
  const { total, page } = createSearchQuery(ctx, query, { search, ...(joins && { joins }), where, order: list.order });
  return readShortenedPage(
    ctx,
    query,
    {
      ...list,
      total,
      select(columns, window) {
        const { ctes, where } = page(window);
        return ctx.db
          .with(...ctes)
          .select(columns)
          .from(search.table)
          .where(where)
          .orderBy(...toOrderBy(list.order))
          .limit(inlineLimit(window.limit));
      },
    },
    toItem,
  );
}
