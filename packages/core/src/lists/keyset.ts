import { and, asc, desc, or, type Placeholder, type SQL, type SQLWrapper, sql } from "drizzle-orm";

/**
 * One key of the order of a list, which is never null. The last key is an id, so that no two rows are at the same place and a
 * page can start after any row.
 */
export interface SortKey<Row> {
  by: SQLWrapper;
  /** The row's value, which a cursor holds as text. */
  of: (row: Row) => Date | string | bigint | boolean;
  /** The text of a cursor, or its placeholder, as a value to compare `by` with. */
  toValue: (text: string | Placeholder) => SQL;
  descending?: boolean;
}

export type SortOrder<Row> = readonly SortKey<Row>[];

const key =
  (type: string) =>
  <Row>(by: SQLWrapper, of: SortKey<Row>["of"]): SortKey<Row> => ({
    by,
    of,
    toValue: (text) => sql`${text}::${sql.raw(type)}`,
  });

export const timeKey = key("timestamptz");
export const idKey = key("uuid");
export const integerKey = key("bigint");
export const textKey = key("text");
export const booleanKey = key("boolean");

/** Text in any case. `of` returns it as it is stored. */
export const lowerCaseKey = <Row>(column: SQLWrapper, of: (row: Row) => string): SortKey<Row> => ({
  by: sql`lower(${column})`,
  of,
  toValue: (text) => sql`lower(${text}::text)`,
});

export const descending = <Row>(...keys: SortKey<Row>[]): SortOrder<Row> => keys.map((key) => ({ ...key, descending: true }));

/** The usual order of a list: by time of creation, the newest first. */
export const newestFirst = (columns: {
  created_at: SQLWrapper;
  id: SQLWrapper;
}): SortOrder<{ created_at: Date | string; id: string }> =>
  descending(
    timeKey(columns.created_at, ({ created_at }) => created_at),
    idKey(columns.id, ({ id }) => id),
  );

export const toOrderBy = (order: SortOrder<never>): SQL[] => order.map(({ by, descending }) => (descending ? desc(by) : asc(by)));

/** The place of a row in an order. */
export const positionOf = <Row>(order: SortOrder<Row>, row: Row): string[] =>
  order.map(({ of }) => {
    const value = of(row);
    return value instanceof Date ? value.toISOString() : String(value);
  });

/**
 * Condition for the rows after a position. Keys of one direction are compared as one row, which an index on them answers
 * without reading the rows before.
 */
export function isAfterPosition(order: SortOrder<never>, position: readonly (string | Placeholder)[]): SQL {
  const isDescending = order[0]!.descending ?? false;
  const length = order.findIndex(({ descending = false }) => descending !== isDescending);
  const end = length === -1 ? order.length : length;
  const keys = sql.join(
    order.slice(0, end).map(({ by }) => sql`${by}`),
    sql`, `,
  );
  const values = sql.join(
    order.slice(0, end).map(({ toValue }, index) => toValue(position[index]!)),
    sql`, `,
  );
  const compare = (operator: string) => sql`(${keys}) ${sql.raw(operator)} (${values})`;
  const beyond = compare(isDescending ? "<" : ">");
  if (end === order.length) return beyond;
  // The first comparison is for the index, the others are exact.
  const tail = and(compare("="), isAfterPosition(order.slice(end), position.slice(end)));
  return and(compare(isDescending ? "<=" : ">="), or(beyond, tail))!;
}
