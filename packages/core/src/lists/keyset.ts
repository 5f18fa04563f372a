import { and, asc, desc, or, type Placeholder, type SQL, type SQLWrapper, sql } from "drizzle-orm";

/**
 * A sort key of a list. Its value must never be null. The last key of an order is an id, so that every row has its own position
 * and a page can start after any row.
 */
interface SortKey<Row> {
  by: SQLWrapper;
  /** Returns the value of this key in a row. A cursor contains it as a string. */
  of: (row: Row) => Date | string | bigint | boolean;
  /** Returns the SQL value to compare `by` with, made from the string in a cursor or from its placeholder. */
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

/** Creates a key that orders text case-insensitively. `of` returns the text as it is stored. */
export const lowerCaseKey = <Row>(column: SQLWrapper, of: (row: Row) => string): SortKey<Row> => ({
  by: sql`lower(${column})`,
  of,
  toValue: (text) => sql`lower(${text}::text)`,
});

export const descending = <Row>(...keys: SortKey<Row>[]): SortOrder<Row> => keys.map((key) => ({ ...key, descending: true }));

/** Returns the default order of a list: by creation time, newest first. */
export const newestFirst = (columns: {
  created_at: SQLWrapper;
  id: SQLWrapper;
}): SortOrder<{ created_at: Date | string; id: string }> =>
  descending(
    timeKey(columns.created_at, ({ created_at }) => created_at),
    idKey(columns.id, ({ id }) => id),
  );

export const toOrderBy = (order: SortOrder<never>): SQL[] => order.map(({ by, descending }) => (descending ? desc(by) : asc(by)));

/** Returns the position of a row in an order, as it is put into a cursor. */
export const positionOf = <Row>(order: SortOrder<Row>, row: Row): string[] =>
  order.map(({ of }) => {
    const value = of(row);
    return value instanceof Date ? value.toISOString() : String(value);
  });

/**
 * Returns the condition for the rows after a position. Keys with the same direction are compared as one row value, so that an index
 * on them can start exactly at the position.
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
  // The first comparison lets an index skip most rows. `beyond` and `tail` then select exactly the rows after the position.
  const tail = and(compare("="), isAfterPosition(order.slice(end), position.slice(end)));
  return and(compare(isDescending ? "<=" : ">="), or(beyond, tail))!;
}
