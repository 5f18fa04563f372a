import { type SQL, sql } from "drizzle-orm";
import type { PgTable } from "drizzle-orm/pg-core";

/** Returns a column cast to text, because values of type json cannot be compared. */
const asText = (row: PgTable | SQL, column: string) => sql`${row}.${sql.identifier(column)}::text`;

/** Returns a condition for an upsert: whether the stored row differs from the new row in at least one of the columns. */
export const isDistinctFromExcluded = (table: PgTable, columns: readonly string[]): SQL<boolean> =>
  columns.length === 0
    ? sql<boolean>`false`
    : sql<boolean>`(${sql.join(
        columns.map((column) => sql`${asText(table, column)} is distinct from ${asText(sql`excluded`, column)}`),
        sql` or `,
      )})`;

/** Returns the SET clause of an upsert in which the columns get the new values. */
export const excludedColumns = (columns: readonly string[]): Record<string, SQL> =>
  Object.fromEntries(columns.map((column) => [column, sql`excluded.${sql.identifier(column)}`]));

/** Returns the SET clause of an upsert that always returns its row. It sets `updated_at` only if a column differs. */
export const upsertSet = (table: PgTable, columns: readonly string[]): Record<string, SQL> => ({
  ...excludedColumns(["source_url", ...columns]),
  updated_at: sql`case when ${isDistinctFromExcluded(table, columns)} then now() else ${table}.updated_at end`,
});
