import { type SQL, sql } from "drizzle-orm";

/**
 * Selects all values of a prepared query as one row, for `with input as materialized (…)`. The planner cannot look into it, so
 * the plan is equally good for all values and the server keeps it. Planning a long query takes as long as running it.
 */
export const selectInputs = (types: Readonly<Record<string, string>>): SQL =>
  sql`select ${sql.join(
    Object.entries(types).map(([name, type]) => sql`${sql.placeholder(name)}::${sql.raw(type)} as ${sql.identifier(name)}`),
    sql`, `,
  )}`;

/** One value of `input`, for a query that does not join it. */
export const input = (name: string): SQL => sql`(select ${sql.identifier(name)} from input)`;

/**
 * Writes a limit into the SQL. A generic plan cannot know a limit that is a parameter and looks more expensive, so PostgreSQL
 * would plan at every use; for a page of wide rows planning takes a third of the time.
 */
export const inlineLimit = (limit: number): number => sql.raw(String(limit)) as unknown as number;
