import { and, type Placeholder, type SQL, sql } from "drizzle-orm";
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

/** A filter with one value. */
export const filterBy = <T>(name: string, value: T, condition: (value: T | Placeholder) => SQL): Filter => ({
  name,
  values: { [name]: value },
  condition: (of) => condition(of(name) as T | Placeholder),
});

/** A filter without a value. */
export const filterIf = (name: string, condition: () => SQL): Filter => ({ name, values: {}, condition });

/** The condition of a statement that is prepared, and its name. */
export const preparedWhere = (filters: readonly Filter[]): SQL =>
  and(...filters.map(({ condition }) => condition((name) => sql.placeholder(name))))!;

export const keyOf = (filters: readonly Filter[]): string => filters.map(({ name }) => name).join();

export const valuesOf = (filters: readonly Filter[]): Values =>
  Object.assign({}, ...filters.map(({ values }) => values)) as Values;

/** The condition of a statement that is built for these values. */
export const where = (filters: readonly Filter[]): SQL =>
  and(...filters.map(({ condition, values }) => condition((name) => values[name])))!;
