import { and, or, type Placeholder, type SQL, sql } from "drizzle-orm";
import type { Values } from "../db/prepared.ts";

/**
 * A condition of a list. The SQL depends only on the name, because `condition` gets placeholders instead of the values. So the
 * name is the filter's part of the cache key of a prepared statement.
 */
export interface Filter {
  name: string;
  values: Values;
  condition: (of: (name: string) => unknown) => SQL;
}

/** A filter with one value. Null if the value is undefined because the parameter was not sent. */
export const filterBy = <Value>(
  name: string,
  value: Value,
  condition: (value: NonNullable<Value> | Placeholder) => SQL,
): Filter | (undefined extends Value ? null : never) =>
  (value === undefined
    ? null
    : { name, values: { value }, condition: (of) => condition(of("value") as NonNullable<Value> | Placeholder) }) as Filter;

/** A filter without a value. Null unless `applies` is true. */
export const filterIf = (name: string, applies: boolean | undefined, condition: () => SQL): Filter | null =>
  applies ? { name, values: {}, condition } : null;

/** A filter for the rows that meet at least one of two filters. */
export const orFilter = (a: Filter, b: Filter): Filter => ({
  name: `(${a.name} or ${b.name})`,
  values: valuesOf([a, b]),
  condition: (of) => or(...conditionsOf([a, b], of))!,
});

/** The filters of a request that apply, without the nulls. */
export const presentOf = (filters: readonly (Filter | null)[]): Filter[] => filters.filter((filter) => filter !== null);

/** Placeholders are numbered by filter, so that two filters may have values with the same name. */
const placeholderName = (index: number, name: string) => `${index}_${name}`;

const conditionsOf = (filters: readonly Filter[], of: (name: string) => unknown): SQL[] =>
  filters.map(({ condition }, index) => condition((name) => of(placeholderName(index, name))));

/** The condition of a prepared statement. Filters with the same `keyOf` give the same SQL. */
export const preparedWhere = (filters: readonly Filter[]): SQL => and(...conditionsOf(filters, (name) => sql.placeholder(name)))!;

export const keyOf = (filters: readonly Filter[]): string => filters.map(({ name }) => name).join();

export const valuesOf = (filters: readonly Filter[]): Values =>
  Object.fromEntries(
    filters.flatMap(({ values }, index) =>
      Object.entries(values).map(([name, value]) => [placeholderName(index, name), value] as const),
    ),
  );

/** The condition of a statement that is built for one call. It contains the values. */
export const conditionOf = (...filters: readonly Filter[]): SQL =>
  and(...filters.map(({ condition, values }) => condition((name) => values[name])))!;
