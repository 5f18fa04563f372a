import { type SQL, sql } from "drizzle-orm";
import type { PgTable } from "drizzle-orm/pg-core";

/** In an upsert: whether the row that is there differs in any of the columns from the one that was sent. */
export const differs = (table: PgTable, columns: readonly string[]): SQL<boolean> =>
  columns.length === 0
    ? sql<boolean>`false`
    : sql<boolean>`(${sql.join(
        columns.map((column) => sql`${table}.${sql.identifier(column)} is distinct from excluded.${sql.identifier(column)}`),
        sql` or `,
      )})`;

/** In an upsert: the columns take what was sent. */
export const sent = (columns: readonly string[]): Record<string, SQL> =>
  Object.fromEntries(columns.map((column) => [column, sql`excluded.${sql.identifier(column)}`]));

/** The same for a row that is always to be returned: `updated_at` moves only when something differs. */
export const sentOrSame = (table: PgTable, columns: readonly string[]): Record<string, SQL> => ({
  ...sent(["source_url", ...columns]),
  updated_at: sql`case when ${differs(table, columns)} then now() else ${table}.updated_at end`,
});
