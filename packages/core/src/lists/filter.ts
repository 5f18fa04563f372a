import { and, or, type Placeholder, type SQL, sql } from "drizzle-orm";
import type { Values } from "../db/prepared.ts";

/**
 * A condition of a list. Its SQL depends only on `name`, because `condition` gets placeholders instead of the values. The name is
 * therefore a sufficient cache key for the prepared statement.
 */
export interface Filter {
  name: string;
  values: Values;
  condition: (of: (name: string) => unknown) => SQL;
}

/** Creates a filter with one value. Returns null if the value is undefined because the parameter was not sent. */
export const filterBy = <Value>(
  name: string,
  value: Value,
  condition: (value: NonNullable<Value> | Placeholder) => SQL,
): Filter | (undefined extends Value ? null : never) =>
  (value === undefined
    ? null
    : { name, values: { value }, condition: (of) => condition(of("value") as NonNullable<Value> | Placeholder) }) as Filter;

/** Creates a filter without a value. Returns null unless `applies` is true. */
export const filterIf = (name: string, applies: boolean | undefined, condition: () => SQL): Filter | null =>
  applies ? { name, values: {}, condition } : null;

/** Creates a filter for the rows that meet at least one of two filters. */
export const orFilter = (a: Filter, b: Filter): Filter => ({
  name: `(${a.name} or ${b.name})`,
  values: valuesOf([a, b]),
  condition: (of) => or(...conditionsOf([a, b], of))!,
});

/** Returns the filters of a request that apply, without the nulls. */
export const presentOf = (filters: readonly (Filter | null)[]): Filter[] => filters.filter((filter) => filter !== null);

/** Returns a name with the number of the filter, because two filters may have values with the same name. */
const placeholderName = (index: number, name: string) => `${index}_${name}`;

const conditionsOf = (filters: readonly Filter[], of: (name: string) => unknown): SQL[] =>
  filters.map(({ condition }, index) => condition((name) => of(placeholderName(index, name))));

/** Returns the condition of a prepared statement, with placeholders. Filters with the same `keyOf` give the same SQL. */
export const preparedWhere = (filters: readonly Filter[]): SQL => and(...conditionsOf(filters, (name) => sql.placeholder(name)))!;

export const keyOf = (filters: readonly Filter[]): string => filters.map(({ name }) => name).join();

export const valuesOf = (filters: readonly Filter[]): Values =>
  Object.fromEntries(
    filters.flatMap(({ values }, index) =>
      Object.entries(values).map(([name, value]) => [placeholderName(index, name), value] as const),
    ),
  );

/** Returns the condition of a statement that is built for one call, with the values. */
export const conditionOf = (...filters: readonly Filter[]): SQL =>
  and(...filters.map(({ condition, values }) => condition((name) => values[name])))!;
