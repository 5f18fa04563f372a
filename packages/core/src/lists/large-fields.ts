import { Column, is, type SQL, sql } from "drizzle-orm";
import type { PgColumn } from "drizzle-orm/pg-core";
import type { SelectResultFields } from "drizzle-orm/query-builders/select.types";
import type { Subquery } from "drizzle-orm/subquery";
import * as z from "zod";
import type { Context } from "../context/context.ts";

/** The schema field that marks a shortened object (docs/reference/conventions.md#size-of-answers). */
export const truncatable = {
  truncated_fields: z
    .array(z.string())
    .optional()
    .describe("Present when the answer would be too large: the fields of this object that are shortened."),
};

/** Adds the names of the shortened fields to an object, if any field was shortened. */
export const withTruncatedFields = <T extends object>(value: T, truncated_fields: readonly string[] | false | null): T =>
  truncated_fields && truncated_fields.length > 0 ? { ...value, truncated_fields } : value;

/** How the database measures and shortens a field that may be large. */
export interface LargeField {
  bytes: (column: SQL) => SQL;
  shorten: (column: SQL, chars: SQL) => SQL;
  /**
   * Returns the value, or null if it has more than `max` bytes. Only for values that the query computes and that are never null.
   */
  within?: (max: SQL) => SQL;
  /** The fields of the answer that show the value. By default this is the field of the same name. */
  shown_as?: readonly string[];
}

const SHOWN_ITEMS = 5;
/** The maximum number of bytes of a character in UTF-8. */
const BYTES_PER_CHAR = 4;

/** A text. PostgreSQL knows its length in bytes without reading the text itself. */
export const largeText: LargeField = {
  bytes: (column) => sql`octet_length(${column})`,
  shorten: (column, chars) => sql`left(${column}, ${chars})`,
};

/** A stored JSON object. It is shortened to `{}`. */
export const largeObject: LargeField = {
  bytes: (column) => sql`octet_length(${column}::text)`,
  shorten: () => sql`'{}'`,
};

/** Any stored JSON. It is shortened to a string with the beginning of the JSON text, because truncated JSON cannot be parsed. */
export const largeJson: LargeField = {
  bytes: largeObject.bytes,
  shorten: (column, chars) => sql`to_json(left(${column}::text, ${chars}))`,
};

/**
 * Returns a JSON value that a subquery aggregates, as a column and as a large field. PostgreSQL computes an aggregate once even if
 * a query contains it twice.
 */
function aggregate<T>(value: SQL, from: SQL, empty: "[]" | "{}") {
  const otherwise = sql.raw(`'${empty}'`);
  const bytes = (column: SQL) => sql`pg_column_size(${column})`;
  return {
    column: sql<T>`coalesce((select ${value} ${from}), ${otherwise})`,
    bytes,
    within: (max: SQL) =>
      sql`(select case when coalesce(${bytes(value)}, 0) <= ${max} then coalesce(${value}, ${otherwise}) end ${from})`,
  };
}

/**
 * Returns an aggregated array as `json`, which is cheaper to build and to send than `jsonb`. If it is shortened, its first items
 * remain.
 */
export const aggregatedList = <T>(value: SQL, from: SQL) => ({
  ...aggregate<T[]>(value, from, "[]"),
  shorten: (column: SQL) => sql`jsonb_path_query_array(${column}::jsonb, ${sql.raw(`'$[0 to ${SHOWN_ITEMS - 1}]'`)})::json`,
});

/** Returns an aggregated JSON object. It is shortened to `{}`. */
export const aggregatedObject = (value: SQL, from: SQL) => ({
  ...aggregate<Record<string, unknown>>(value, from, "{}"),
  shorten: largeObject.shorten,
});

/** An array of texts. If it is shortened, its first items remain. */
export const largeTexts: LargeField = {
  bytes: (column) => sql`octet_length(${column}::text)`,
  shorten: (column) => sql`${column}[1:${sql.raw(String(SHOWN_ITEMS))}]`,
};

/** The large fields of a row, by column name. */
export type LargeFields<Name extends string = string> = Readonly<Partial<Record<Name, LargeField>>>;

type Fields = Record<string, PgColumn | SQL>;
/** The columns that the query of a page selects, each under its own name. */
export type PageColumns = Record<string, PgColumn | SQL | SQL.Aliased>;
/** A query of a page, built but not run. */
export interface PageSelect extends PromiseLike<Record<string, unknown>[]> {
  as(alias: string): Subquery;
  prepare(name: string): unknown;
}
interface LargeRows<F extends Fields> {
  fields: F;
  large: LargeFields<Extract<keyof F, string>>;
  max_rows: number;
  run?: RunSelect;
}

/** Runs a query. `key` identifies its SQL among the variants of one page. Null means that the query is too rare to be cached. */
type RunSelect = (key: string | null, build: () => PageSelect) => PromiseLike<Record<string, unknown>[]>;

/** The first statement of `readShortened` includes every value of at most this size, even in a list of thousands of rows. */
const MIN_FIELD_BYTES = 4_096;

/**
 * Reads at most `max_rows` rows. The first statement leaves out large values. If there are large values, a second statement
 * measures the whole page and shortens the large fields if they exceed the budget of an answer.
 */
export async function readShortened<F extends Fields>(
  ctx: Context,
  { fields, large, max_rows, run = (_key, build) => build() }: LargeRows<F>,
  select: (columns: PageColumns) => PageSelect,
): Promise<ShortenedRow<SelectResultFields<F>>[]> {
  const field_bytes = Math.max(MIN_FIELD_BYTES, Math.floor(ctx.settings.budgets.answer_max_bytes / max_rows));
  // Rounded down to a power of two, because each size needs its own prepared statement.
  const max_bytes = 2 ** Math.floor(Math.log2(field_bytes));
  const rows = await run(`${max_bytes}`, () => select({ ...fields, ...withoutLargeValues(fields, large, max_bytes) }));
  const computed = Object.keys(large).filter((name) => (large as LargeFields)[name]!.within);
  const isLarge = rows.some((row) => row["truncated_fields"] === true || computed.some((name) => row[name] === null));
  return (isLarge ? await run(null, () => selectMeasured(ctx, fields, large, select)) : rows) as ShortenedRow<
    SelectResultFields<F>
  >[];
}

/**
 * Selects large fields as null if they have more than `max_bytes`. `truncated_fields` tells whether any stored field of the row
 * is that large.
 */
function withoutLargeValues(fields: Fields, large: LargeFields, max_bytes: number): Fields {
  const measured = Object.entries(large).map(([name, field]) => ({ name, column: sql`${fields[name]}`, ...field! }));
  // The number is a literal, because PostgreSQL would not keep the plan if it were a parameter.
  const max = sql.raw(String(max_bytes));
  const values = measured.map(({ name, column, bytes, within }) => {
    const value = within ? within(max) : sql`case when ${bytes(column)} <= ${max} then ${column} end`;
    return [name, value.mapWith(decoderOf(fields[name]!))] as const;
  });
  const stored = measured.filter(({ within }) => !within).map(({ column, bytes }) => sql`${bytes(column)} > ${max}`);
  const isAnyLarge = stored.length === 0 ? sql`false` : sql`(${sql.join(stored, sql` or `)})`;
  return { ...Object.fromEntries(values), truncated_fields: isAnyLarge };
}

/**
 * Measures all rows of a page. If the page exceeds the budget, the budget is divided equally between all large fields of all
 * rows.
 */
function selectMeasured(
  ctx: Context,
  fields: Fields,
  large: LargeFields,
  select: (columns: PageColumns) => PageSelect,
): PageSelect {
  const page = select(mapFields(fields, toNamedColumn)).as("page");
  const columnOf = (name: string) => (page as unknown as Record<string, SQL>)[name]!;
  const measured = Object.entries(large).map(([name, field]) => ({
    name,
    field: field!,
    column: columnOf(name),
    bytes: sql`coalesce(${field!.bytes(columnOf(name))}, 0)`,
  }));
  const max_bytes = sql.raw(String(ctx.settings.budgets.answer_max_bytes));
  const sizes = measured.map(({ bytes }) => bytes);
  // The sum is computed by a window function, which keeps the order of the rows.
  const sum = sql`sum(${sql.join(sizes, sql` + `)}) over ()`;
  const share = sql`(${max_bytes} / (${sql.raw(String(measured.length))} * count(*) over ()))`;
  const chars = sql`(${share} / ${sql.raw(String(BYTES_PER_CHAR))})::int`;
  const isShortened = (bytes: SQL) => sql`(${sum} > ${max_bytes} and ${bytes} > ${share})`;
  const shortened = measured.map(({ name, field, column, bytes }) => {
    const value = sql`case when ${isShortened(bytes)} then ${field.shorten(column, chars)} else ${column} end`;
    return [name, value.mapWith(decoderOf(fields[name]!))] as const;
  });
  const names = measured.flatMap(({ name, field, bytes }) =>
    (field.shown_as ?? [name]).map((shown) => sql`case when ${isShortened(bytes)} then ${sql.raw(`'${shown}'`)} end`),
  );
  const truncated_fields = sql<string[]>`array_remove(array[${sql.join(names, sql`, `)}]::text[], null)`;
  return ctx.db
    .select({ ...mapFields(fields, (_field, name) => columnOf(name)), ...Object.fromEntries(shortened), truncated_fields })
    .from(page);
}

/** A row of `readShortened` with the names of its shortened fields. They are false if no field of the page was large. */
type ShortenedRow<Row> = Row & { truncated_fields: string[] | false | null };

/** Converts a row of `readShortened` to an item that lists its shortened fields. */
export function toShortened<Row extends object, T extends object>(row: ShortenedRow<Row>, toItem: (row: Row) => T): T {
  const { truncated_fields, ...rest } = row;
  return withTruncatedFields(toItem(rest as unknown as Row), truncated_fields);
}

const mapFields = <To>(fields: Fields, to: (field: PgColumn | SQL, name: string) => To): Record<string, To> =>
  Object.fromEntries(Object.entries(fields).map(([name, field]) => [name, to(field, name)]));

/** Names a column like its field, because columns of two tables may have the same name. */
const toNamedColumn = (field: PgColumn | SQL, name: string): PgColumn | SQL.Aliased =>
  is(field, Column) && field.name === name ? field : sql`${field}`.mapWith(decoderOf(field)).as(name);

const decoderOf = (field: PgColumn | SQL) => (is(field, Column) ? field : (field as SQL & { decoder: SQL["mapWith"] }).decoder);
