import { type SQL, sql } from "drizzle-orm";

/**
 * Selects all values of a prepared query as one row, for `with input as materialized (…)`. The planner cannot see the values, so
 * the server keeps one plan for all of them. Otherwise it would plan at each use, which for a long query takes as long as running
 * it.
 */
export const selectInputs = (types: Readonly<Record<string, string>>): SQL =>
  sql`select ${sql.join(
    Object.entries(types).map(([name, type]) => sql`${sql.placeholder(name)}::${sql.raw(type)} as ${sql.identifier(name)}`),
    sql`, `,
  )}`;

/** Selects one value of `input`, for a query that does not join `input`. */
export const input = (name: string): SQL => sql`(select ${sql.identifier(name)} from input)`;

/**
 * Writes a limit into the SQL. If the limit were a parameter, PostgreSQL would overestimate the cost of a generic plan and plan
 * at every use. For a page of wide rows, planning takes a third of the time.
 */
export const inlineLimit = (limit: number): number => sql.raw(String(limit)) as unknown as number;
