import { is, Param, Placeholder, type Query, SQL, sql } from "drizzle-orm";
import { PgDialect, type PreparedQueryConfig, type SelectedFieldsOrdered } from "drizzle-orm/pg-core";
import type { Db } from "../context/db.ts";
import { createRowMapper, type Joins, type MapRows } from "./row-mapper.ts";

/*
 * Queries whose SQL Drizzle builds once per process. Building it takes longer than the server needs for an indexed read, so every
 * frequent query is prepared. A prepared query runs on any handle, also in a transaction (docs/decisions/query-runtime.md).
 */

/** The values of a query's placeholders, by name. */
export type Values = Readonly<Record<string, unknown>>;
/** A query of Drizzle's query builder, or raw SQL. Raw SQL returns the driver's result, whose rows `rowsOf` reads. */
type Preparable = SQL | { prepare(name: string): unknown };
type ResultOf<Q> = Q extends SQL ? unknown : Awaited<Q>;
/** Arguments that select a variant of the SQL, for example whether it has a condition. */
type Shape = readonly (string | number | boolean)[];

export interface Prepared<Result> {
  execute(values: Values): Promise<Result>;
}

/**
 * The maximum number of variants of a query. Shapes must come from the code and not from values of requests, so only a bug can
 * exceed this number.
 */
const MAX_SHAPES = 500;

/**
 * A query with placeholders that is built once for each `shape`. Everything that can change the SQL must be part of the shape;
 * everything else is a placeholder.
 *
 * @example
 * const byId = preparedQuery((db) => db.select().from(tags).where(eq(tags.id, sql.placeholder("id"))));
 * await byId(ctx.db).execute({ id });
 */
export function preparedQuery<const S extends Shape, Q extends Preparable>(
  build: (db: Db, ...shape: S) => Q,
): (db: Db, ...shape: S) => Prepared<ResultOf<Q>> {
  const statements = createStatementCache<ResultOf<Q>>();
  return (db, ...shape) => ({
    execute: (values) => statements.get(shape.join(), () => build(db, ...shape)).execute(db, values),
  });
}

/** Creates a cache of built statements by key. When the cache reaches its maximum size, all its entries are dropped. */
export function createStatementCache<Result>(): { get(key: string, build: () => Preparable): Statement<Result> } {
  const statements = new Map<string, Statement<Result>>();
  return {
    get(key, build) {
      let statement = statements.get(key);
      if (statement === undefined) {
        if (statements.size >= MAX_SHAPES) statements.clear();
        statements.set(key, (statement = createStatement<Result>(build())));
      }
      return statement;
    },
  };
}

export interface Statement<Result> {
  execute(db: Db, values: Values): Promise<Result>;
}

interface Returning<Result> extends PreparedQueryConfig {
  execute: Result;
}

const dialect = new PgDialect();

/** Builds a statement with placeholders. */
export function createStatement<Result>(query: Preparable): Statement<Result> {
  const { text, params, mapRows } = is(query, SQL) ? toRawText(query) : toText(query);
  const readers = params.map(toReader);
  return {
    execute(db, values) {
      const filled = { sql: text, params: readers.map((read) => read(values)) };
      // Drizzle is not given a statement name, because `cacheStatements` decides which statements the server prepares.
      const mapper = mapRows as ((rows: unknown[][]) => Result) | undefined;
      return db._.session.prepareQuery<Returning<Result>>(filled, undefined, undefined, mapRows !== undefined, mapper).execute();
    },
  };
}

interface Text {
  text: string;
  params: unknown[];
  mapRows: MapRows | undefined;
}

function toRawText(query: SQL): Text {
  const { sql: text, params } = dialect.sqlToQuery(query);
  return { text, params, mapRows: undefined };
}

function toText(query: { prepare(name: string): unknown }): Text {
  const built = query.prepare("") as { getQuery(): Query; fields?: SelectedFieldsOrdered; joinsNotNullableMap?: Joins };
  const { sql: text, params } = built.getQuery();
  return { text, params, mapRows: built.fields && createRowMapper(built.fields, built.joinsNotNullableMap) };
}

function toReader(param: unknown): (values: Values) => unknown {
  if (is(param, Placeholder)) return (values) => valueOf(values, param);
  if (!is(param, Param) || !is(param.value, Placeholder)) return () => param;
  const { encoder, value: placeholder } = param;
  return (values) => {
    const value = valueOf(values, placeholder);
    return value === null ? null : encoder.mapToDriverValue(value);
  };
}

function valueOf(values: Values, { name }: Placeholder): unknown {
  const value = values[name];
  if (value === undefined) throw new Error(`No value for placeholder "${name}"`);
  return value;
}

/**
 * Returns placeholders as values of columns. Drizzle accepts them in every write, although its types do not allow them in an
 * update.
 */
export const placeholders = <Name extends string>(names: readonly Name[]): Record<Name, never> =>
  Object.fromEntries(names.map((name) => [name, sql.placeholder(name)])) as Record<Name, never>;
