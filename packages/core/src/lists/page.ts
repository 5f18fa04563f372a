import { type SQL, sql } from "drizzle-orm";
import type { PgColumn } from "drizzle-orm/pg-core";
import type { SelectResultFields } from "drizzle-orm/query-builders/select.types";
import * as z from "zod";
import type { Context } from "../context/context.ts";
import { isAfterPosition, positionOf, type SortOrder } from "./keyset.ts";
import { type LargeFields, type PageColumns, type PageSelect, readShortened, withTruncatedFields } from "./large-fields.ts";
import { type CursorScope, formatPageCursor, MAX_CURSOR, parsePageCursor } from "./page-cursor.ts";
import { lazyObject, MAX_INTEGER, QueryInteger } from "../values/wire.ts";

export interface PageQuery {
  limit: number;
  offset: number;
  /** Where the page starts instead of an offset: empty for the first page. */
  cursor?: string | undefined;
}

const MAX_LIMIT = 200;

export const pageQuery = (defaultLimit = 50, maxLimit = MAX_LIMIT) =>
  lazyObject(() => ({
    limit: QueryInteger(1, maxLimit).default(defaultLimit).describe("Maximum number of items to return."),
    offset: QueryInteger(0, MAX_INTEGER).default(0).describe("Number of items to skip."),
    cursor: z
      .string()
      .max(MAX_CURSOR, { abort: true })
      .optional()
      .describe(
        "Start of the page instead of `offset`: empty for the first one, then as in the Link header. `total` is not counted and is -1.",
      ),
  }));

/** The query of a list that is a plain array: all items, or a part of them. */
export const arrayQuery = lazyObject(() => ({
  limit: QueryInteger(1, 200).optional().describe("Maximum number of items to return; when omitted, all."),
  offset: QueryInteger(0, MAX_INTEGER).default(0).describe("Number of items to skip."),
}));
export type ArrayQuery = z.infer<typeof arrayQuery>;

/** As many items as an answer can hold, so that no more are read; `item_bytes` is less than the bytes of any item. */
export const arrayLimit = (ctx: Context, item_bytes: number, query?: ArrayQuery): number =>
  query?.limit ?? Math.ceil(ctx.settings.budgets.answer_max_bytes / item_bytes);

/** For lists whose clients send no limit and show the page as the whole list. */
export const longPageQuery = () => pageQuery(MAX_LIMIT);

/** The key of a page's next cursor. A symbol, because the answer has it in the Link header and not in its body. */
export const NEXT_CURSOR = Symbol("next cursor");

export interface Page<T> {
  items: T[];
  total: number;
  limit: number;
  offset: number;
  /** The cursor of the next page; null when there is none. */
  [NEXT_CURSOR]?: string | null;
}

const createPageSchema = <T extends z.ZodType>(item: T) =>
  lazyObject(() => ({
    items: z.array(item).describe("The items of this page, in the order of the list."),
    total: z.int().describe("Total number of items in the list; -1 with `cursor`."),
    limit: z.int().describe("The limit that was applied."),
    offset: z.int().describe("The offset that was applied."),
  })).meta({ id: `${item.meta()?.id}Page`, description: "A page of a list." });

const pageSchemas = new WeakMap<z.ZodType, unknown>();
const allPageSchemas = new WeakSet<z.ZodType>();

/** Whether an answer of this schema is a page, whose Link header has the address of the next one. */
export const isPageSchema = (schema: z.ZodType): boolean => allPageSchemas.has(schema);

/**
 * The schema of a page. Pages of the same item share one schema, because a schema is registered under a unique id. The total
 * is exact for every page, also past the end of the list.
 */
export function pageOf<T extends z.ZodType>(item: T): ReturnType<typeof createPageSchema<T>> {
  const page = (pageSchemas.get(item) as ReturnType<typeof createPageSchema<T>> | undefined) ?? createPageSchema(item);
  pageSchemas.set(item, page);
  allPageSchemas.add(page);
  return page;
}

/** A list that is read by page. */
export interface List<Row> {
  /** Names the list in its cursors. */
  name: string;
  /** Id of the resource whose list it is. A cursor of another owner is refused. */
  owner: string;
  order: SortOrder<Row>;
}

/** The rows of a page. By cursor it is one more than is shown, which tells whether there are more. */
export interface PageWindow {
  after: SQL | undefined;
  limit: number;
  offset: number;
}

const scopeOf = ({ name, owner }: List<never>, { limit, offset, cursor, ...filters }: PageQuery): CursorScope => ({
  list: name,
  owner,
  filters,
});

/** The position of a page's cursor; null for a page that starts at the beginning or at an offset. */
export function toPosition(ctx: Context, query: PageQuery, list: List<never>): string[] | null {
  return query.cursor ? parsePageCursor(ctx.settings.token_pepper, scopeOf(list, query), query.cursor) : null;
}

function toWindow(ctx: Context, query: PageQuery, list: List<never>): PageWindow {
  const { limit, offset, cursor } = query;
  if (cursor === undefined) return { after: undefined, limit, offset };
  const position = toPosition(ctx, query, list);
  return { after: position ? isAfterPosition(list.order, position) : undefined, limit: limit + 1, offset: 0 };
}

export async function toPage<Row, T>(
  ctx: Context,
  query: PageQuery,
  list: List<Row>,
  { rows, count, toItem }: { rows: Row[]; count: () => PromiseLike<number> | number; toItem: (row: Row) => T },
): Promise<Page<T>> {
  const { limit } = query;
  const isByCursor = query.cursor !== undefined;
  const offset = isByCursor ? 0 : query.offset;
  const shown = rows.slice(0, limit);
  const total = isByCursor ? -1 : await count();
  const hasMore = isByCursor ? rows.length > limit : offset + shown.length < total;
  const last = shown.at(-1);
  const next =
    hasMore && last !== undefined
      ? formatPageCursor(ctx.settings.token_pepper, scopeOf(list, query), positionOf(list.order, last))
      : null;
  return { items: shown.map(toItem), total, limit, offset, [NEXT_CURSOR]: next };
}

/** A row of a page together with the number of rows in the whole list. */
interface CountedRow<Row> {
  item: Row;
  total: number;
}

/** The total of a list, by itself or as a column of its page. `column` is for a page that has counted already. */
export type Total = SQL<number> & PromiseLike<number> & { column?: SQL<number> };

/** What a page by cursor selects instead of the total, which would cost as much as reading the whole list. */
export const NOT_COUNTED = sql<number>`-1`.mapWith(Number);

/**
 * Reads a page and the total in one statement: `rows` selects `total` next to each item, and PostgreSQL evaluates it once
 * per statement. Past the end of the list no row holds the total, so `total` is queried separately.
 */
export async function readPage<Keys, Row extends Keys, T>(
  ctx: Context,
  query: PageQuery,
  list: List<Keys>,
  total: Total,
  rows: (window: PageWindow & { total: SQL<number> }) => PromiseLike<CountedRow<Row>[]>,
  toItem: (row: Row) => T,
): Promise<Page<T>> {
  const selected = query.cursor === undefined ? (total.column ?? total) : NOT_COUNTED;
  const page = await rows({ ...toWindow(ctx, query, list), total: selected });
  return toPage(ctx, query, list, {
    rows: page.map(({ item }) => item),
    count: () => page[0]?.total ?? (query.offset === 0 ? 0 : total),
    toItem,
  });
}

export interface ShortenedPage<F extends Record<string, PgColumn | SQL>> extends List<SelectResultFields<F>> {
  columns: F;
  large: LargeFields<Extract<keyof F, string>>;
  total: Total;
  /** The query of the page. It selects `columns`, in which the total is one of them. */
  select: (columns: PageColumns, window: PageWindow) => PageSelect;
}

/** Reads a page and the total as `readPage` does, and shortens large fields when the page would exceed the budget of an answer. */
export function readShortenedPage<F extends Record<string, PgColumn | SQL>, T extends object>(
  ctx: Context,
  query: PageQuery,
  { columns, large, total, select, ...list }: ShortenedPage<F>,
  toItem: (row: SelectResultFields<F>) => T,
): Promise<Page<T>> {
  type Shortened = SelectResultFields<F> & { truncated_fields?: string[] };
  const read = async ({ total, ...window }: PageWindow & { total: SQL<number> }) => {
    const fields: Record<string, PgColumn | SQL> = { ...columns, total };
    const rows = await readShortened(ctx, { fields, large, max_rows: query.limit }, (fields) => select(fields, window));
    return rows.map(({ total, ...row }) => ({ item: row as unknown as Shortened, total: total as number }));
  };
  return readPage(ctx, query, list, total, read, ({ truncated_fields, ...row }) =>
    withTruncatedFields(toItem(row as SelectResultFields<F>), truncated_fields ?? null),
  );
}

/** Reads a page where counting is expensive, so that `count` runs only when it must. */
export async function readPageAndCount<Keys, Row extends Keys, T>(
  ctx: Context,
  query: PageQuery,
  list: List<Keys>,
  rows: (window: PageWindow) => Promise<Row[]>,
  count: () => Promise<number>,
  toItem: (row: Row) => T,
): Promise<Page<T>> {
  const page = await rows(toWindow(ctx, query, list));
  return toPage(ctx, query, list, { rows: page, count: () => countUnlessLast(query, page, count), toItem });
}

/** The total that the last page of a list determines; `count` runs for other pages. */
export function countUnlessLast({ limit, offset }: PageQuery, page: readonly unknown[], count: () => Promise<number>) {
  const isLastPage = page.length < limit && (page.length > 0 || offset === 0);
  return isLastPage ? offset + page.length : count();
}
