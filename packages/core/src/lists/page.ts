import type { SQL } from "drizzle-orm";
import * as z from "zod";
import type { Context } from "../context/context.ts";
import { positionOf, type SortOrder } from "./keyset.ts";
import { type CursorScope, formatPageCursor, MAX_CURSOR, parsePageCursor } from "./page-cursor.ts";
import { MAX_COUNTED } from "./list-sql.ts";
import { lazyObject, MAX_INTEGER, QueryInteger } from "../values/wire.ts";

export interface PageQuery {
  limit: number;
  offset: number;
  /** Where the page starts, instead of an offset. The empty string is the first page. */
  cursor?: string | undefined;
  /** The default is "exact". */
  count?: CountMode | undefined;
}

const COUNT_MODES = ["exact", "limited"] as const;
export type CountMode = (typeof COUNT_MODES)[number];

/** The query parameter `count`, for lists that may be too long to count. */
export const Count = z
  .enum(COUNT_MODES)
  .optional()
  .describe(
    `How \`total\` is counted: \`exact\` (the default), or \`limited\`, which stops at ${MAX_COUNTED} and answers faster if there are more.`,
  );

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

/** The query parameters of a list that answers with a plain array: all items, or a part of them. */
export const arrayQuery = lazyObject(() => ({
  limit: QueryInteger(1, 200).optional().describe("Maximum number of items to return; when omitted, all."),
  offset: QueryInteger(0, MAX_INTEGER).default(0).describe("Number of items to skip."),
}));
export type ArrayQuery = z.infer<typeof arrayQuery>;

/**
 * Returns the requested limit, or else the number of items that fit into an answer, so that no more are read. `item_bytes` must be
 * a lower bound for the size of an item.
 */
export const arrayLimit = (ctx: Context, item_bytes: number, query?: ArrayQuery): number =>
  query?.limit ?? Math.ceil(ctx.settings.budgets.answer_max_bytes / item_bytes);

/** Creates the query parameters of a list whose clients send no limit and treat the page as the whole list. */
export const longPageQuery = () => pageQuery(MAX_LIMIT);

/**
 * The property of a page that contains its next cursor. It is a symbol, because the cursor goes into the Link header and not into
 * the body.
 */
export const NEXT_CURSOR = Symbol("next cursor");

export interface Page<T> {
  items: T[];
  total: number;
  /** Present if there are more items than `total`. */
  total_is_limited?: true;
  limit: number;
  offset: number;
  /** The cursor of the next page; null when there is none. */
  [NEXT_CURSOR]?: string | null;
}

/** Adapts the query of a list that has only pages by cursor. Without a cursor, the query asks for the first page. */
export const byCursor = <Q extends Omit<PageQuery, "offset">>(query: Q) => ({ ...query, cursor: query.cursor ?? "", offset: 0 });

/** Returns a page in the form of lists that only have pages by cursor. */
export const toCursorPage = <T>({ items, limit, [NEXT_CURSOR]: next_cursor = null }: Page<T>) => ({ items, limit, next_cursor });

const createPageSchema = <T extends z.ZodType>(item: T) =>
  lazyObject(() => ({
    items: z.array(item).describe("The items of this page, in the order of the list."),
    total: z.int().describe("Total number of items in the list; -1 with `cursor`."),
    limit: z.int().describe("The limit that was applied."),
    offset: z.int().describe("The offset that was applied."),
  })).meta({ id: `${item.meta()?.id}Page`, description: "A page of a list." });

/** Returns the schema of a page of a list with the query parameter `count`. */
export function countedPageOf<T extends z.ZodType>(item: T) {
  const page = lazyObject(() => ({
    ...createPageSchema(item).shape,
    total_is_limited: z
      .literal(true)
      .optional()
      .describe("Present with `count=limited` if the list has more items than `total`."),
  })).meta({ id: `${item.meta()?.id}Page`, description: "A page of a list." });
  allPageSchemas.add(page);
  return page;
}

const pageSchemas = new WeakMap<z.ZodType, unknown>();
const allPageSchemas = new WeakSet<z.ZodType>();

/** Checks whether this is the schema of a page, whose answer gets a Link header to the next page. */
export const isPageSchema = (schema: z.ZodType): boolean => allPageSchemas.has(schema);

/**
 * Returns the schema of a page. All pages with the same item share one schema, because a schema is registered under a unique id. In
 * a page by offset, `total` is exact even past the end of the list.
 */
export function pageOf<T extends z.ZodType>(item: T): ReturnType<typeof createPageSchema<T>> {
  const page = (pageSchemas.get(item) as ReturnType<typeof createPageSchema<T>> | undefined) ?? createPageSchema(item);
  pageSchemas.set(item, page);
  allPageSchemas.add(page);
  return page;
}

/** The list that a cursor belongs to: its name, its owner and its order. */
interface Listing<Row> {
  name: string;
  owner: string;
  order: SortOrder<Row>;
}

/**
 * Which rows to read for a page. With a cursor, `limit` is one more than the page shows, and the extra row tells whether there is
 * a next page.
 */
export interface PageWindow {
  after: SQL | undefined;
  limit: number;
  offset: number;
}

const scopeOf = ({ name, owner }: Listing<never>, { limit, offset, cursor, count, ...filters }: PageQuery): CursorScope => ({
  list: name,
  owner,
  filters,
});

/** Returns the position of the query's cursor; null for a page that starts at the beginning or at an offset. */
export function toPosition(ctx: Context, query: PageQuery, list: Listing<never>): string[] | null {
  return query.cursor ? parsePageCursor(ctx.settings.token_pepper, scopeOf(list, query), query.cursor) : null;
}

/**
 * Makes a page from the rows that were read. With a cursor, there may be one extra row, which shows that there is a next page.
 * `count` is not called with a cursor.
 */
export async function toPage<Row>(
  ctx: Context,
  query: PageQuery,
  list: Listing<Row>,
  { rows, count }: { rows: Row[]; count: () => PromiseLike<number> | number },
): Promise<Page<Row>> {
  const { limit } = query;
  const isByCursor = query.cursor !== undefined;
  const offset = isByCursor ? 0 : query.offset;
  const shown = rows.slice(0, limit);
  const counted = isByCursor ? -1 : await count();
  const is_limited = query.count === "limited" && counted > MAX_COUNTED;
  const total = is_limited ? MAX_COUNTED : counted;
  const hasMore = isByCursor ? rows.length > limit : is_limited ? shown.length === limit : offset + shown.length < total;
  const last = shown.at(-1);
  const next =
    hasMore && last !== undefined
      ? formatPageCursor(ctx.settings.token_pepper, scopeOf(list, query), positionOf(list.order, last))
      : null;
  const limited = is_limited ? { total_is_limited: true as const } : {};
  return { items: shown, total, ...limited, limit, offset, [NEXT_CURSOR]: next };
}

/** Returns the total of a list. On the last page, the total follows from the page. Otherwise `count` runs. */
export function countUnlessLast({ limit, offset }: PageQuery, page: readonly unknown[], count: () => Promise<number>) {
  const isLastPage = page.length < limit && (page.length > 0 || offset === 0);
  return isLastPage ? offset + page.length : count();
}
