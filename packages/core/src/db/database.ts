import { fileURLToPath } from "node:url";
import { sql } from "drizzle-orm";
import journal from "../../../../migrations/meta/_journal.json" with { type: "json" };
import type { Db } from "../context/db.ts";

/** An open database: the handle that core uses, and the operations for the code that opened the database. */
export interface Database {
  db: Db;
  /**
   * Applies the missing migrations of `folder`. When several processes start at the same time, one of them applies the
   * migrations.
   */
  migrate(folder?: string): Promise<void>;
  close(): Promise<void>;
}

export const migrationsFolder = () => fileURLToPath(new URL("../../../../migrations", import.meta.url));

const LATEST_MIGRATION = Math.max(...journal.entries.map((entry) => entry.when));

/**
 * How the schema of a database compares with this code. Code can use a `newer` schema as well as a `current` one: migrations only
 * add to the schema, a deployment migrates before its code is live, and a rollback does not change the schema.
 */
export type SchemaState = "absent" | "older" | "current" | "newer";

/** Compares the schema of the database with this code. Throws if the database does not answer. */
export async function readSchemaState(db: Db): Promise<SchemaState> {
  const table = await db.execute(sql`select to_regclass('drizzle.__drizzle_migrations') is not null as present`);
  if (!rowsOf<{ present: boolean }>(table)[0]?.present) return "absent";
  const applied = await db.execute(sql`select max(created_at)::text as latest from drizzle.__drizzle_migrations`);
  const latest = Number(rowsOf<{ latest: string | null }>(applied)[0]?.latest ?? 0);
  if (latest === 0) return "absent";
  return latest < LATEST_MIGRATION ? "older" : latest === LATEST_MIGRATION ? "current" : "newer";
}

/** Checks whether the database has every migration of this code. Throws if the database does not answer. */
export async function isMigrated(db: Db): Promise<boolean> {
  const state = await readSchemaState(db);
  return state === "current" || state === "newer";
}

/**
 * Checks whether the server refuses all writes, because its disk is full or it is a standby. Throws if the server does not answer.
 */
export async function isReadOnly(db: Db): Promise<boolean> {
  const result = await db.execute(sql`select current_setting('transaction_read_only') = 'on' as read_only`);
  return rowsOf<{ read_only: boolean }>(result)[0]!.read_only;
}

/** Returns the rows of a raw statement. Every driver returns an object with `rows`, which Drizzle's types do not show. */
export function rowsOf<Row>(result: unknown): Row[] {
  return (result as { rows: Row[] }).rows;
}
