import { and, inArray, type Placeholder, type SQL, type SQLWrapper, sql } from "drizzle-orm";
import type { SelectResultFields } from "drizzle-orm/query-builders/select.types";
import type { Context } from "../context/context.ts";
import type { Db } from "../context/db.ts";
import { rowsOf } from "../db/database.ts";
import { createStatement, createStatementCache, type Values } from "../db/prepared.ts";
import { type Filter, keyOf, preparedWhere, presentOf, valuesOf } from "./filter.ts";
import { isAfterPosition, type SortOrder, toOrderBy } from "./keyset.ts";
import { type LargeFields, type PageColumns, type PageSelect, readShortened, withTruncatedFields } from "./large-fields.ts";
import { type Columns, countOf, foundRows, type ListSource, placeholderOf, selectFrom } from "./list-sql.ts";
import { type CountMode, countUnlessLast, type Page, type PageQuery, type PageWindow, toPage, toPosition } from "./page.ts";
import { buildSearch } from "./search-page.ts";
import { toWordPatterns, toWordQuery } from "./text-search.ts";

/** The parts of a list that are the same for every request. */
interface ListOptions<F extends Columns> extends ListSource<SelectResultFields<F>> {
  /** The name of the list in its cursors. */
  name: string;
  columns: F;
  /** The columns that are shortened when a page would be too large. */
  large?: LargeFields<Extract<keyof F, string>>;
  order: SortOrder<SelectResultFields<F>>;
}

interface ListRequest<Row, Item> {
  /** The id of the resource that the list belongs to. A cursor of another owner is refused. */
  owner: string;
  /** The conditions on the rows, including the caller's access. A filter is null if its parameter was not sent. */
  filters: readonly (Filter | null)[];
  /** Set to replace the default order of the list. */
  order?: SortOrder<Row>;
  /** The owners whose rows are searched; by default only `owner`. */
  search_owners?: readonly string[];
  /** Values for placeholders in the columns. */
  values?: Values;
  /** Selects the ids of a page, for filters that no single index can serve. */
  selectIds?: (window: PageWindow) => SQLWrapper;
  /** Counts the rows in some other way, for lists whose rows take too long to count. */
  count?: () => Promise<number>;
  toItems: (rows: Row[]) => Item[] | Promise<Item[]>;
}

type ItemRequest<Row, Item> = Omit<ListRequest<Row, Item>, "toItems"> & { toItem: (row: Row) => Item };

export interface List<Row> {
  /** Reads a page. Only a page by offset includes the total. */
  read<Item extends object>(
    ctx: Context,
    query: Query,
    request: ItemRequest<Row, Item> | ListRequest<Row, Item>,
  ): Promise<Page<Item>>;
}

type Query = PageQuery & { q?: string | undefined; count?: CountMode | undefined };

/**
 * Declares a list. The filters of a request determine the statements for its pages, cursors, total, search and shortened columns.
 * Each statement is built once and prepared by the server.
 */
export function listOf<F extends Columns>(options: ListOptions<F>): List<SelectResultFields<F>> {
  type Row = SelectResultFields<F>;
  const statements = createPageStatements(options as unknown as ListSource);
  return {
    async read(ctx, query, request) {
      const { owner, order = options.order, count } = request;
      const scope = { name: options.name, owner, order };
      const found = await statements.read(ctx, query, { ...request, order } as AnyRequest, toPosition(ctx, query, scope));
      const rows = found.map(({ total: _total, truncated_fields: _truncated, ...row }) => row as Row);
      const readTotal = () => statements.count(ctx, query, request as AnyRequest);
      const counted = found[0]?.["total"] as number | undefined;
      const page = await toPage<Row>(ctx, query, scope, {
        rows,
        count: () => (count ? countUnlessLast(query, rows, count) : (counted ?? (query.offset === 0 ? 0 : readTotal()))),
      });
      const items = "toItem" in request ? page.items.map(request.toItem) : await request.toItems(page.items);
      const truncated = (index: number) => found[index]!["truncated_fields"] as string[] | false;
      return { ...page, items: items.map((item, index) => withTruncatedFields(item, truncated(index))) };
    },
  };
}

type AnyRequest = Omit<ListRequest<never, never>, "toItems" | "order"> & { order: SortOrder<never> };

/**
 * Common limits. They are written into the SQL, because PostgreSQL then plans a page better. Other limits are parameters, so that
 * clients cannot create a new statement for each number.
 */
const INLINED_LIMITS = [10, 20, 50, 100, 200];
/**
 * The largest index to use in the array of found ids. It is close to the largest array index of PostgreSQL, and no list is that
 * long.
 */
const MAX_INDEX = 2 ** 30;

/** What the SQL of a page depends on besides filters and order. */
interface Shape {
  is_by_cursor: boolean;
  has_position: boolean;
  has_offset: boolean;
  is_search: boolean;
  /**
   * Null for a page by cursor, because counting costs as much as reading the whole list. Also null for a list with its own
   * `count`.
   */
  total: CountMode | null;
  /** The limit if it is written into the SQL, otherwise null. */
  limit: number | null;
}

interface PageStatement {
  fields: Columns;
  select: (columns: PageColumns) => PageSelect;
  cache: ReturnType<typeof createStatementCache<Record<string, unknown>[]>>;
}

/** Builds the statements of one list and caches them by order, filters and shape. */
function createPageStatements(list: ListSource) {
  const built = new WeakMap<SortOrder<never>, Map<string, PageStatement>>();

  function statementOf(ctx: Context, filters: readonly Filter[], order: SortOrder<never>, shape: Shape): PageStatement {
    const pages = built.get(order) ?? new Map<string, PageStatement>();
    built.set(order, pages);
    const key = [keyOf(filters), ...Object.values(shape)].join("/");
    const page = pages.get(key) ?? { ...buildPage(ctx.db, list, filters, order, shape), cache: createStatementCache() };
    pages.set(key, page);
    return page;
  }

  return {
    read(ctx: Context, query: Query, request: AnyRequest, position: readonly string[] | null) {
      const { order, selectIds } = request;
      const filters = presentOf(request.filters);
      const is_by_cursor = query.cursor !== undefined;
      const limit = query.limit + Number(is_by_cursor);
      const offset = is_by_cursor ? 0 : query.offset;
      const shown = { max_rows: query.limit, large: list.large ?? {} };
      if (selectIds) {
        const after = position ? isAfterPosition(order, position) : undefined;
        const where = inArray(list.table.id, selectIds({ after, limit, offset }));
        return readShortened(ctx, { ...shown, fields: list.columns }, (columns) =>
          selectFrom(ctx.db, list, columns)
            .where(where)
            .orderBy(...toOrderBy(order)),
        );
      }
      const page = statementOf(ctx, filters, order, {
        is_by_cursor,
        has_position: position !== null,
        has_offset: offset > 0,
        is_search: query.q !== undefined,
        total: request.count === undefined && !is_by_cursor ? (query.count ?? "exact") : null,
        limit: INLINED_LIMITS.includes(query.limit) ? limit : null,
      });
      const positions = Object.fromEntries((position ?? []).map((value, index) => [afterName(index), value]));
      const first = Math.min(offset, MAX_INDEX) + 1;
      const values = { ...valuesFor(query, request), ...positions, limit, offset, first, last: first + limit - 1 };
      return readShortened(
        ctx,
        {
          ...shown,
          fields: page.fields,
          run: (key, build) =>
            (key === null ? createStatement<Record<string, unknown>[]>(build()) : page.cache.get(key, build)).execute(
              ctx.db,
              values,
            ),
        },
        page.select,
      );
    },

    /** Counts the list in a separate statement, because a page without rows cannot contain the total. */
    async count(ctx: Context, query: Query, request: AnyRequest): Promise<number> {
      const source = query.q === undefined ? sql`${list.table}` : foundRows(list);
      const total = countOf(list, source, preparedWhere(presentOf(request.filters)), query.count === "limited");
      const result = await createStatement(sql`select ${total} as total`).execute(ctx.db, valuesFor(query, request));
      return Number(rowsOf<{ total: unknown }>(result)[0]!.total);
    },
  };
}

function valuesFor({ q }: Query, { owner, search_owners = [owner], filters, values }: AnyRequest): Values {
  const search = q === undefined ? {} : { words: toWordQuery(search_owners, q), patterns: toWordPatterns(q) };
  return { ...values, ...valuesOf(presentOf(filters)), ...search };
}

const afterName = (index: number) => `after_${index}`;

function buildPage(
  db: Db,
  list: ListSource,
  filters: readonly Filter[],
  order: SortOrder<never>,
  shape: Shape,
): Pick<PageStatement, "fields" | "select"> {
  const where = preparedWhere(filters);
  const orderBy = toOrderBy(order);
  const after = shape.has_position
    ? isAfterPosition(
        order,
        order.map((_key, index) => sql.placeholder(afterName(index)) as Placeholder),
      )
    : undefined;
  const limit = shape.limit === null ? placeholderOf("limit") : sql.raw(String(shape.limit));
  const withTotal = (total: SQL<number>) => (shape.total === null ? list.columns : { ...list.columns, total });
  if (shape.is_search) return buildSearch(db, list, { filters, order, after, limit, withTotal, total: shape.total });
  const skips = shape.has_offset && list.skips_in_index;
  return {
    fields: withTotal(countOf(list, sql`${list.table}`, where, shape.total === "limited")),
    select(columns) {
      const start = skips ? startsAtOffset(list, order, where) : after;
      const query = selectFrom(db, list, columns)
        .where(and(where, start))
        .orderBy(...orderBy)
        .limit(limit as never);
      return shape.has_offset && !skips ? query.offset(sql.placeholder("offset")) : query;
    },
  };
}

/**
 * Skips `offset` entries in an index-only query, and returns the condition for the rows after them, so that the other columns are
 * only read for the rows of the page.
 */
function startsAtOffset(list: ListSource, order: SortOrder<never>, where: SQL): SQL {
  const keys = sql.join(
    order.map(({ by }) => sql`${by}`),
    sql`, `,
  );
  const orderBy = sql.join(toOrderBy(order), sql`, `);
  const start = sql`select ${keys} from ${list.table} where ${where} order by ${orderBy} limit 1 offset ${placeholderOf("offset")}`;
  return sql`(${keys}) ${sql.raw(order[0]!.descending ? "<=" : ">=")} (${start})`;
}
