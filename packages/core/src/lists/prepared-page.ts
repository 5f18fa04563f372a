import { type SQL, sql } from "drizzle-orm";
import type { PgColumn } from "drizzle-orm/pg-core";
import type { SelectResultFields } from "drizzle-orm/query-builders/select.types";
import type { Context } from "../context/context.ts";
import { rowsOf } from "../db/database.ts";
import { createStatement, createStatementCache, type Values } from "../db/prepared.ts";
import { type Filter, keyOf, preparedWhere, valuesOf } from "./filter.ts";
import { isAfterPosition, type SortOrder } from "./keyset.ts";
import {
  type LargeFields,
  type PageColumns,
  type PageSelect,
  readShortened,
  type RunSelect,
  withTruncatedFields,
} from "./large-fields.ts";
import { NOT_COUNTED, type Page, type PageQuery, type ShortenedPage, toPage, toPosition } from "./page.ts";

type Columns = Record<string, PgColumn | SQL>;

/** The rows to select, with the placeholder `offset`. */
interface Window {
  where: SQL;
  after: SQL | undefined;
  limit: SQL;
  /** Whether the offset is 0. */
  from_start: boolean;
}

interface PageOf {
  select: (columns: PageColumns) => PageSelect;
  /** The total, as a column. */
  total: SQL<number>;
}

interface PreparedPage<F extends Columns> extends Omit<ShortenedPage<F>, "total" | "select"> {
  filters: readonly Filter[];
  /** The query, which is kept for other requests with these filters and this order: it may depend on nothing else. */
  build: (window: Window) => PageOf;
}

interface BuiltPage extends PageOf {
  fields: Columns;
  statements: ReturnType<typeof createStatementCache<Record<string, unknown>[]>>;
}

/** By the order of the list, then by the rest that its text depends on. */
const builtPages = new WeakMap<SortOrder<never>, Map<string, BuiltPage>>();

/** The usual limits. PostgreSQL plans a page better with the limit in its text, but a caller must not make as many texts. */
const INLINED_LIMITS = [10, 20, 50, 100, 200];

/** Reads a page as `readShortenedPage` does, with a query that is built once. */
export async function readPreparedPage<F extends Columns, T extends object>(
  ctx: Context,
  query: PageQuery,
  list: PreparedPage<F>,
  toItem: (row: SelectResultFields<F>) => T,
): Promise<Page<T>> {
  type Row = SelectResultFields<F> & { total: number; truncated_fields: string[] | null };
  const isByCursor = query.cursor !== undefined;
  const position = toPosition(ctx, query, list);
  const limit = isByCursor ? query.limit + 1 : query.limit;
  const offset = isByCursor ? 0 : query.offset;
  const page = toBuiltPage(list as unknown as PreparedPage<Columns>, { isByCursor, position, shown: query.limit, offset });
  const values = { ...valuesOf(list.filters), ...toValues(position), limit, offset };
  const run: RunSelect = (key, build) => {
    const statement = key === null ? createStatement<Record<string, unknown>[]>(build()) : page.statements.get(key, build);
    return statement.execute(ctx.db, values);
  };
  const large = { fields: page.fields, large: list.large as LargeFields, max_rows: query.limit, run };
  const rows = (await readShortened(ctx, large, page.select)) as unknown as Row[];
  return toPage<Row, T>(ctx, query, list, {
    rows,
    count: () => rows[0]?.total ?? (offset === 0 ? 0 : readTotal(ctx, page.total, values)),
    toItem: ({ total: _total, truncated_fields, ...row }) =>
      withTruncatedFields(toItem(row as unknown as SelectResultFields<F>), truncated_fields),
  });
}

interface PageShape {
  isByCursor: boolean;
  position: readonly string[] | null;
  shown: number;
  offset: number;
}

function toBuiltPage(list: PreparedPage<Columns>, { isByCursor, position, shown, offset }: PageShape): BuiltPage {
  const from_start = offset === 0;
  const inlined = INLINED_LIMITS.includes(shown) ? shown + Number(isByCursor) : null;
  const pages = builtPages.get(list.order) ?? new Map<string, BuiltPage>();
  builtPages.set(list.order, pages);
  const key = [list.name, keyOf(list.filters), isByCursor, position !== null, from_start, inlined].join("/");
  const existing = pages.get(key);
  if (existing) return existing;
  const after = position
    ? isAfterPosition(
        list.order,
        position.map((_value, index) => sql.placeholder(nameOf(index))),
      )
    : undefined;
  const limit = inlined === null ? sql`${sql.placeholder("limit")}` : sql.raw(String(inlined));
  const page = list.build({ where: preparedWhere(list.filters), after, limit, from_start });
  const fields = { ...list.columns, total: isByCursor ? NOT_COUNTED : page.total };
  const built = { ...page, fields, statements: createStatementCache<Record<string, unknown>[]>() };
  pages.set(key, built);
  return built;
}

const nameOf = (index: number) => `after_${index}`;

const toValues = (position: readonly string[] | null): Values =>
  Object.fromEntries((position ?? []).map((value, index) => [nameOf(index), value]));

/** The total of a list of which the page has no row. */
async function readTotal(ctx: Context, total: SQL<number>, values: Values): Promise<number> {
  const result = await createStatement(sql`select ${total} as total`).execute(ctx.db, values);
  return Number(rowsOf<{ total: unknown }>(result)[0]!.total);
}
