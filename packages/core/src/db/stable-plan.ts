import { type SQL, sql } from "drizzle-orm";

/**
 * Selects all values of a prepared query as one row, for `with given as materialized (…)`. The planner does not see the values
 * behind it and expects the same with any of them, so that the server keeps one plan. Planning a long statement again took as
 * long as running it.
 */
export const selectGiven = (types: Readonly<Record<string, string>>): SQL =>
  sql`select ${sql.join(
    Object.entries(types).map(([name, type]) => sql`${sql.placeholder(name)}::${sql.raw(type)} as ${sql.identifier(name)}`),
    sql`, `,
  )}`;

/** One of these values, where the row itself is not joined. */
export const given = (name: string): SQL => sql`(select ${sql.identifier(name)} from given)`;
