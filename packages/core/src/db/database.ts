import { setTimeout as pause } from "node:timers/promises";
import { fileURLToPath } from "node:url";
import { sql } from "drizzle-orm";
import journal from "../../../../migrations/meta/_journal.json" with { type: "json" };
import type { Db } from "../context.ts";
import { isLockFailure } from "./query-error.ts";

/** An open database: the handle for the domain, and the operations for its owner. */
export interface Database {
  db: Db;
  /** Applies missing migrations from `folder`. Processes that start at the same time apply them only once. */
  migrate(folder?: string): Promise<void>;
  close(): Promise<void>;
}

export const migrationsFolder = () => fileURLToPath(new URL("../../../../migrations", import.meta.url));

/** An arbitrary fixed number: all processes that migrate wait for the same advisory lock. */
const MIGRATION_LOCK = 4_207_119;

interface LockingClient {
  query(text: string, values?: unknown[]): Promise<unknown>;
  release(destroy?: boolean): void;
}

/** How long a migration waits for a table. Every later statement on the table waits behind it, so the wait must be short. */
const LOCK_TIMEOUT_MS = 3_000;
const MAX_LOCK_ATTEMPTS = 20;
const LOCK_RETRY_MS = 1_000;

/**
 * Runs `migrate` under an advisory lock, so that one process migrates at a time, without the timeouts of other sessions. When
 * a table is in use for too long, it rolls back and tries again. Closing the connection releases the lock.
 */
export async function withMigrationLock(client: LockingClient, migrate: () => Promise<void>): Promise<void> {
  try {
    await client.query("set statement_timeout = 0; set idle_in_transaction_session_timeout = 0");
    await client.query("select pg_advisory_lock($1)", [MIGRATION_LOCK]);
    await client.query(`set lock_timeout = ${LOCK_TIMEOUT_MS}`);
    await withLockRetry(migrate);
  } finally {
    client.release(true);
  }
}

async function withLockRetry(migrate: () => Promise<void>): Promise<void> {
  for (let attempt = 1; ; attempt++) {
    try {
      await migrate();
      return;
    } catch (error) {
      if (attempt === MAX_LOCK_ATTEMPTS || !isLockFailure(error)) throw error;
      await pause(LOCK_RETRY_MS);
    }
  }
}

const LATEST_MIGRATION = Math.max(...journal.entries.map((entry) => entry.when));

/**
 * The state of a database's schema relative to this code. `newer` is as usable as `current`: a deployment migrates before its
 * code goes live, a rollback keeps the schema, and migrations only add to it.
 */
export type SchemaState = "absent" | "older" | "current" | "newer";

/** Throws when the database does not answer. */
export async function readSchemaState(db: Db): Promise<SchemaState> {
  const table = await db.execute(sql`select to_regclass('drizzle.__drizzle_migrations') is not null as present`);
  if (!rowsOf<{ present: boolean }>(table)[0]?.present) return "absent";
  const applied = await db.execute(sql`select max(created_at)::text as latest from drizzle.__drizzle_migrations`);
  const latest = Number(rowsOf<{ latest: string | null }>(applied)[0]?.latest ?? 0);
  if (latest === 0) return "absent";
  return latest < LATEST_MIGRATION ? "older" : latest === LATEST_MIGRATION ? "current" : "newer";
}

/** Whether the database has every migration of this code. Throws when it does not answer. */
export async function isMigrated(db: Db): Promise<boolean> {
  const state = await readSchemaState(db);
  return state === "current" || state === "newer";
}

/** Whether the server refuses every write: its disk is full, or it is a standby. Throws when it does not answer. */
export async function isReadOnly(db: Db): Promise<boolean> {
  const result = await db.execute(sql`select current_setting('transaction_read_only') = 'on' as read_only`);
  return rowsOf<{ read_only: boolean }>(result)[0]!.read_only;
}

/** The rows of a raw statement. Every driver returns an object with `rows`, which Drizzle's types do not show. */
export function rowsOf<Row>(result: unknown): Row[] {
  return (result as { rows: Row[] }).rows;
}
