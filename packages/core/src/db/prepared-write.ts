import { getTableColumns, type Placeholder, type SQL, type SQLWrapper, sql } from "drizzle-orm";
import type { PgColumn, PgTable } from "drizzle-orm/pg-core";
import type { Context } from "../context/context.ts";
import type { Db } from "../context/db.ts";
import { createStatementCache, type Values } from "./prepared.ts";

/** A write whose SQL is built once. `runWrite` runs it alone, and `runBatch` runs it together with other writes. */
export interface PreparedWrite {
  /** Identifies the SQL in the cache. Two writes with the same key must have the same SQL. */
  key: string;
  /** Builds the SQL. `value(name)` returns the placeholder of a value. */
  build: (db: Db, value: (name: string) => Placeholder) => SQLWrapper;
  values: Values;
}

const statements = createStatementCache();

export async function runWrite({ db }: Pick<Context, "db">, { key, build, values }: PreparedWrite): Promise<void> {
  await statements.get(key, () => build(db, sql.placeholder).getSQL()).execute(db, values);
}

type Row<T extends PgTable> = T["$inferInsert"];
type ColumnName<T extends PgTable> = Extract<keyof Row<T>, string>;

interface RowsInsert<Name extends string> {
  /** SQL to insert instead of the row's value. The SQL can refer to that value as `given.<column>`. */
  expressions?: Partial<Record<Name, SQL>>;
  /** SQL types of values whose type differs from the column's type. */
  types?: Partial<Record<Name, string>>;
  where?: SQL;
  onConflict?: SQL;
}

/**
 * Builds an insert whose SQL is the same for any number of rows, because all rows are one JSON parameter. Columns missing from a
 * row become null, so do not list columns with a default.
 */
export function prepareRowsInsert<T extends PgTable, const Name extends ColumnName<T>>(
  key: string,
  table: T,
  columns: readonly Name[],
  { expressions = {}, types = {}, where = sql``, onConflict = sql`` }: RowsInsert<Name> = {},
): (rows: readonly object[]) => PreparedWrite {
  const build: PreparedWrite["build"] = (_db, value) => {
    const all = getTableColumns(table) as Record<string, PgColumn>;
    const typeOf = (name: Name) => sql.raw(types[name] ?? all[name]!.getSQLType());
    const names = columns.map((name) => sql.identifier(name));
    const selected = columns.map((name) => expressions[name] ?? sql`given.${sql.identifier(name)}`);
    const typed = columns.map((name) => sql`${sql.identifier(name)} ${typeOf(name)}`);
    return sql`insert into ${table} (${sql.join(names, sql`, `)}) select ${sql.join(selected, sql`, `)}
      from json_to_recordset(${value("rows")}::json) as given(${sql.join(typed, sql`, `)}) ${where} ${onConflict}`;
  };
  return (rows) => ({ key, build, values: { rows: toJson(rows) } });
}

/** Half of a surrogate pair. It remains if a text was cut in the middle of a character. */
const LONE_SURROGATE = /\\ud[89a-f]/i;

/**
 * Converts rows to JSON. PostgreSQL refuses half of a surrogate pair in JSON. So the half is replaced with U+FFFD, as the driver
 * does in a text parameter.
 */
function toJson(rows: unknown): string {
  const json = JSON.stringify(rows);
  if (!LONE_SURROGATE.test(json)) return json;
  return JSON.stringify(rows, (_key, value: unknown) => (typeof value === "string" ? value.toWellFormed() : value));
}

/** Builds the insert of one row. Columns that are not listed get their defaults. */
export function prepareRowInsert<T extends PgTable, const Name extends ColumnName<T>>(
  key: string,
  table: T,
  columns: readonly Name[],
): (row: Pick<Row<T>, Name>) => PreparedWrite {
  const build: PreparedWrite["build"] = (db, value) =>
    db.insert(table).values(Object.fromEntries(columns.map((name) => [name, value(name)])) as never);
  return (row) => ({ key, build, values: row });
}
