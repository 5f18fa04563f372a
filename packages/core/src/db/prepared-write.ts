import { getTableColumns, type Placeholder, type SQL, type SQLWrapper, sql } from "drizzle-orm";
import type { PgColumn, PgTable } from "drizzle-orm/pg-core";
import type { Context, Db } from "../context/context.ts";
import { createStatementCache, type Values } from "./prepared.ts";

/** A write whose text is built once: alone by `runWrite`, or as a part of a batch by `runBatch`. */
export interface PreparedWrite {
  /** Names the text. */
  key: string;
  /** `value` is the placeholder of a value. */
  build: (db: Db, value: (name: string) => Placeholder) => SQLWrapper;
  values: Values;
}

const statements = createStatementCache();

/** Runs a write. */
export async function runWrite({ db }: Pick<Context, "db">, { key, build, values }: PreparedWrite): Promise<void> {
  await statements.get(key, () => build(db, sql.placeholder).getSQL()).execute(db, values);
}

type Row<T extends PgTable> = T["$inferInsert"];
type ColumnName<T extends PgTable> = Extract<keyof Row<T>, string>;

interface RowsInsert<Name extends string> {
  /** What is inserted instead of the row's value, which is a column of `given`. */
  expressions?: Partial<Record<Name, SQL>>;
  /** The types of values that are not sent as the type of their column. */
  types?: Partial<Record<Name, string>>;
  onConflict?: SQL;
}

/**
 * The insert of any number of rows by one text: they are one parameter. Columns that a row leaves out are null, so that
 * columns with a default are not among `columns`.
 */
export function prepareRowsInsert<T extends PgTable, const Name extends ColumnName<T>>(
  key: string,
  table: T,
  columns: readonly Name[],
  { expressions = {}, types = {}, onConflict = sql`` }: RowsInsert<Name> = {},
): (rows: readonly object[]) => PreparedWrite {
  const build: PreparedWrite["build"] = (_db, value) => {
    const all = getTableColumns(table) as Record<string, PgColumn>;
    const typeOf = (name: Name) => sql.raw(types[name] ?? all[name]!.getSQLType());
    const names = columns.map((name) => sql.identifier(name));
    const selected = columns.map((name) => expressions[name] ?? sql`given.${sql.identifier(name)}`);
    const typed = columns.map((name) => sql`${sql.identifier(name)} ${typeOf(name)}`);
    return sql`insert into ${table} (${sql.join(names, sql`, `)}) select ${sql.join(selected, sql`, `)}
      from json_to_recordset(${value("rows")}::json) as given(${sql.join(typed, sql`, `)}) ${onConflict}`;
  };
  return (rows) => ({ key, build, values: { rows: toJson(rows) } });
}

/** Half of a surrogate pair, which remains where a text was cut. */
const LONE_SURROGATE = /\\ud[89a-f]/i;

/** JSON that PostgreSQL takes. As a parameter of type text, half of a surrogate pair is replaced in the same way. */
function toJson(rows: unknown): string {
  const json = JSON.stringify(rows);
  if (!LONE_SURROGATE.test(json)) return json;
  return JSON.stringify(rows, (_key, value: unknown) => (typeof value === "string" ? value.toWellFormed() : value));
}

/** The insert of one row. The columns that it leaves out have their defaults. */
export function prepareRowInsert<T extends PgTable, const Name extends ColumnName<T>>(
  key: string,
  table: T,
  columns: readonly Name[],
): (row: Pick<Row<T>, Name>) => PreparedWrite {
  const build: PreparedWrite["build"] = (db, value) =>
    db.insert(table).values(Object.fromEntries(columns.map((name) => [name, value(name)])) as never);
  return (row) => ({ key, build, values: row });
}
