import { and, or, type Placeholder, type SQL, sql } from "drizzle-orm";
import type { Values } from "../db/prepared.ts";

/**
 * One condition of a list. Its text follows from its name alone, because it sees placeholders instead of the values: so the name
 * is the key under which a prepared statement with it is kept.
 */
export interface Filter {
  name: string;
  values: Values;
  condition: (of: (name: string) => unknown) => SQL;
}

/** A filter with one value; none when the value is undefined, such as a parameter that was not sent. */
export const filterBy = <Value>(
  name: string,
  value: Value,
  condition: (value: NonNullable<Value> | Placeholder) => SQL,
): Filter | (undefined extends Value ? null : never) =>
  (value === undefined
    ? null
    : { name, values: { value }, condition: (of) => condition(of("value") as NonNullable<Value> | Placeholder) }) as Filter;

/** A filter without a value; none when `applies` is not true. */
export const filterIf = (name: string, applies: boolean | undefined, condition: () => SQL): Filter | null =>
  applies ? { name, values: {}, condition } : null;

/** Rows to which one of two filters applies. */
export const orFilter = (a: Filter, b: Filter): Filter => ({
  name: `(${a.name} or ${b.name})`,
  values: valuesOf([a, b]),
  condition: (of) => or(...conditionsOf([a, b], of))!,
});

/** The filters of a request, without those of parameters that were not sent. */
export const presentOf = (filters: readonly (Filter | null)[]): Filter[] => filters.filter((filter) => filter !== null);

/** The placeholders of each filter have its number, so that two filters with a value of the same name do not share it. */
const placeholderName = (index: number, name: string) => `${index}_${name}`;

const conditionsOf = (filters: readonly Filter[], of: (name: string) => unknown): SQL[] =>
  filters.map(({ condition }, index) => condition((name) => of(placeholderName(index, name))));

/** The condition of a statement that is prepared; its text follows from `keyOf`. */
export const preparedWhere = (filters: readonly Filter[]): SQL => and(...conditionsOf(filters, (name) => sql.placeholder(name)))!;

export const keyOf = (filters: readonly Filter[]): string => filters.map(({ name }) => name).join();

export const valuesOf = (filters: readonly Filter[]): Values =>
  Object.fromEntries(
    filters.flatMap(({ values }, index) =>
      Object.entries(values).map(([name, value]) => [placeholderName(index, name), value] as const),
    ),
  );

/** The condition of a statement that is built for these values. */
export const conditionOf = (...filters: readonly Filter[]): SQL =>
  and(...filters.map(({ condition, values }) => condition((name) => values[name])))!;
