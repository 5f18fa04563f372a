import type { SQL } from "drizzle-orm";
import type { PgColumn } from "drizzle-orm/pg-core";
import type { SelectResultFields } from "drizzle-orm/query-builders/select.types";
import * as z from "zod";
import type { Context } from "./context.ts";
import { type LargeFields, type PageColumns, type PageSelect, readShortened, withTruncatedFields } from "./large-fields.ts";
import { MAX_INTEGER, QueryInteger } from "./wire.ts";

export interface PageQuery {
  limit: number;
  offset: number;
}

const MAX_LIMIT = 200;

export const pageQuery = (defaultLimit = 50, maxLimit = MAX_LIMIT) =>
  z.object({
    limit: QueryInteger(1, maxLimit).default(defaultLimit).describe("Maximum number of items to return."),
    offset: QueryInteger(0, MAX_INTEGER).default(0).describe("Number of items to skip."),
  });

/** The query of a list that is a plain array: all items, or a part of them. */
export const arrayQuery = z.object({
  limit: QueryInteger(1, 200).optional().describe("Maximum number of items to return; when omitted, all."),
  offset: QueryInteger(0, MAX_INTEGER).default(0).describe("Number of items to skip."),
});
export type ArrayQuery = z.infer<typeof arrayQuery>;

/** As many items as an answer can hold, so that no more are read; `item_bytes` is less than the bytes of any item. */
export const arrayLimit = (ctx: Context, item_bytes: number, query?: ArrayQuery): number =>
  query?.limit ?? Math.ceil(ctx.settings.budgets.answer_max_bytes / item_bytes);

/** For lists whose clients send no limit and show the page as the whole list. */
export const longPageQuery = () => pageQuery(MAX_LIMIT);

export interface Page<T> {
  items: T[];
  total: number;
  limit: number;
  offset: number;
}

const createPageSchema = <T extends z.ZodType>(item: T) =>
  z
    .object({
      items: z.array(item).describe("The items of this page, in the order of the list."),
      total: z.int().describe("Total number of items in the list."),
      limit: z.int().describe("The limit that was applied."),
      offset: z.int().describe("The offset that was applied."),
    })
    .meta({ id: `${item.meta()?.id}Page`, description: "A page of a list." });

const pageSchemas = new WeakMap<z.ZodType, unknown>();

/**
 * The schema of a page. Pages of the same item share one schema, because a schema is registered under a unique id. The total
 * is exact for every page, also past the end of the list.
 */
export function pageOf<T extends z.ZodType>(item: T): ReturnType<typeof createPageSchema<T>> {
  const page = (pageSchemas.get(item) as ReturnType<typeof createPageSchema<T>> | undefined) ?? createPageSchema(item);
  pageSchemas.set(item, page);
  return page;
}

/** A row of a page together with the number of rows in the whole list. */
interface CountedRow<Row> {
  item: Row;
  total: number;
}

/**
 * Reads a page and the total in one statement: `rows` selects `total` next to each item, and PostgreSQL evaluates it once
 * per statement. Past the end of the list no row holds the total, so `total` is queried separately.
 */
export async function readPage<Row, T>(
  query: PageQuery,
  total: PromiseLike<number>,
  rows: (limit: number, offset: number) => PromiseLike<CountedRow<Row>[]>,
  toItem: (row: Row) => T,
): Promise<Page<T>> {
  const { limit, offset } = query;
  const page = await rows(limit, offset);
  const count = page[0]?.total ?? (offset === 0 ? 0 : await total);
  return { items: page.map(({ item }) => toItem(item)), total: count, limit, offset };
}

interface ShortenedPage<F> {
  columns: F;
  large: LargeFields<Extract<keyof F, string>>;
  total: SQL<number> & PromiseLike<number>;
  /** The query of the page. It selects `columns`, in which the total is one of them. */
  select: (columns: PageColumns, limit: number, offset: number) => PageSelect;
}

/** Reads a page and the total as `readPage` does, and shortens large fields when the page would exceed the budget of an answer. */
export function readShortenedPage<F extends Record<string, PgColumn | SQL>, T extends object>(
  ctx: Context,
  query: PageQuery,
  { columns, large, total, select }: ShortenedPage<F>,
  toItem: (row: SelectResultFields<F>) => T,
): Promise<Page<T>> {
  const read = async (limit: number, offset: number) => {
    const fields: Record<string, PgColumn | SQL> = { ...columns, total };
    const rows = await readShortened(ctx, { fields, large, max_rows: limit }, (fields) => select(fields, limit, offset));
    return rows.map((row) => ({ item: row, total: row["total"] as number }));
  };
  return readPage(query, total, read, ({ total: _total, truncated_fields, ...row }) =>
    withTruncatedFields(toItem(row as SelectResultFields<F>), truncated_fields),
  );
}

/**
 * Reads a page where counting is expensive. The last page of a list determines the total, so `count` runs for other pages
 * only.
 */
export async function readPageAndCount<Row, T>(
  query: PageQuery,
  rows: (limit: number, offset: number) => Promise<Row[]>,
  count: () => Promise<number>,
  toItem: (row: Row) => T,
): Promise<Page<T>> {
  const { limit, offset } = query;
  const page = await rows(limit, offset);
  const isLastPage = page.length < limit && (page.length > 0 || offset === 0);
  const total = isLastPage ? offset + page.length : await count();
  return { items: page.map(toItem), total, limit, offset };
}
