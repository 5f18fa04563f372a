import { setTimeout as pause } from "node:timers/promises";
import { sql } from "drizzle-orm";
import { type MigrationMeta, readMigrationFiles } from "drizzle-orm/migrator";
import type { Db } from "../context/db.ts";
import { rowsOf } from "./database.ts";
import { isLockFailure } from "./query-error.ts";

/** An arbitrary fixed number. All processes that migrate wait for this advisory lock. */
const MIGRATION_LOCK = 4_207_119;

interface LockingClient {
  query(text: string, values?: unknown[]): Promise<{ rows: unknown[] }>;
  release(destroy?: boolean): void;
}

/**
 * How long a migration waits for the lock of a table. While it waits, PostgreSQL queues all new statements on the table behind
 * it, so the wait must be short.
 */
const LOCK_TIMEOUT_MS = 3_000;
const MAX_LOCK_ATTEMPTS = 20;
const LOCK_RETRY_MS = 1_000;

/**
 * Migrates without the usual timeouts, under an advisory lock so that only one process migrates. If a table stays locked for too
 * long, the attempt is rolled back and repeated. Closing the connection releases the advisory lock.
 */
export async function migrateServer(client: LockingClient, db: Db, folder: string): Promise<void> {
  try {
    await client.query("set statement_timeout = 0; set idle_in_transaction_session_timeout = 0");
    await takeMigrationLock(client);
    await client.query(`set lock_timeout = ${LOCK_TIMEOUT_MS}`);
    await withLockRetry(() => applyMigrations(db, folder, { concurrently: true }));
    // Building an index concurrently may wait for open transactions, but no statement waits behind it. So it needs no timeout.
    await client.query("set lock_timeout = 0");
    await withLockRetry(() => buildConcurrentIndexes(db, folder));
    await withLockRetry(() => dropReplacedIndexes(db, folder));
  } finally {
    client.release(true);
  }
}

/**
 * Polls with `pg_try_advisory_lock`. A statement that blocks on the lock would cause a deadlock: CREATE INDEX CONCURRENTLY, in
 * the process that holds the lock, waits for all older statements.
 */
async function takeMigrationLock(client: LockingClient): Promise<void> {
  for (;;) {
    const { rows } = await client.query("select pg_try_advisory_lock($1) as taken", [MIGRATION_LOCK]);
    if ((rows[0] as { taken: boolean }).taken) return;
    await pause(LOCK_RETRY_MS);
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

const CONCURRENT_INDEX = /^\s*create (?:unique )?index concurrently "([^"]+)" on "([^"]+)"/i;
/** Matches a statement that drops an index which queries use until its replacement is built. */
const CONCURRENT_DROP = /^\s*drop index concurrently (?:if exists )?"([^"]+)"/i;
const CREATED_INDEX = /^\s*create (?:unique )?index (?:concurrently )?"([^"]+)"/i;
const DROPPED = /^\s*drop (?:index|table) (?:concurrently )?(?:if exists )?"([^"]+)"/i;

/**
 * Applies the missing migrations of a folder in one transaction and records them as Drizzle's migrator does. A transaction cannot
 * create an index concurrently, so on a server `buildConcurrentIndexes` creates such indexes later, without blocking writes.
 */
export async function applyMigrations(db: Db, folder: string, options: { concurrently: boolean }): Promise<void> {
  await db.execute(sql`create schema if not exists drizzle`);
  await db.execute(sql`
    create table if not exists drizzle.__drizzle_migrations (id serial primary key, hash text not null, created_at bigint)`);
  const applied = await db.execute(sql`select coalesce(max(created_at), 0)::text as latest from drizzle.__drizzle_migrations`);
  const latest = Number(rowsOf<{ latest: string }>(applied)[0]!.latest);
  const missing = readMigrationFiles({ migrationsFolder: folder }).filter(({ folderMillis }) => folderMillis > latest);
  await db.transaction(async (tx) => {
    for (const migration of missing) await applyMigration(tx, migration, options.concurrently);
  });
}

async function applyMigration(db: Db, { sql: statements, hash, folderMillis }: MigrationMeta, concurrently: boolean) {
  for (const statement of statements)
    if (!concurrently || !(CONCURRENT_INDEX.test(statement) || CONCURRENT_DROP.test(statement)))
      await db.execute(sql.raw(toTransactional(statement)));
  await db.execute(sql`insert into drizzle.__drizzle_migrations (hash, created_at) values (${hash}, ${folderMillis})`);
}

/**
 * Returns the statement without CONCURRENTLY, which is not allowed in a transaction. Adds IF EXISTS to a drop, because the index
 * may never have been built.
 */
const toTransactional = (statement: string): string =>
  CONCURRENT_INDEX.test(statement)
    ? statement.replace(/ concurrently /i, " ")
    : statement.replace(/^(\s*drop index )(?:concurrently )?(?:if exists )?/i, "$1if exists ");

/**
 * Builds the missing concurrent indexes of a folder. An index that an interrupted attempt left invalid is built again. An index
 * that an operator built by hand is kept. The caller must hold the migration lock and must not be in a transaction.
 */
async function buildConcurrentIndexes(db: Db, folder: string): Promise<void> {
  for (const [name, statement] of listConcurrentIndexes(folder)) {
    const quoted = sql.identifier(name);
    const found = await db.execute(
      sql`select indisvalid as valid from pg_index where indexrelid = to_regclass(quote_ident(${name}))`,
    );
    const [index] = rowsOf<{ valid: boolean }>(found);
    if (index?.valid) continue;
    if (index) await db.execute(sql`drop index concurrently ${quoted}`);
    await db.execute(sql.raw(statement));
  }
}

/** Drops the indexes that migrations drop concurrently. It runs last, so that their replacements already exist. */
async function dropReplacedIndexes(db: Db, folder: string): Promise<void> {
  const replaced = new Set<string>();
  for (const statement of readMigrationFiles({ migrationsFolder: folder }).flatMap((migration) => migration.sql)) {
    const [, dropped] = CONCURRENT_DROP.exec(statement) ?? [];
    const [, created] = CREATED_INDEX.exec(statement) ?? [];
    if (dropped) replaced.add(dropped);
    if (created) replaced.delete(created);
  }
  for (const name of replaced) await db.execute(sql`drop index concurrently if exists ${sql.identifier(name)}`);
}

/** Lists the statements that create concurrent indexes, by index name. Indexes that a later migration drops are left out. */
function listConcurrentIndexes(folder: string): Map<string, string> {
  const indexes = new Map<string, { table: string; statement: string }>();
  for (const statement of readMigrationFiles({ migrationsFolder: folder }).flatMap((migration) => migration.sql)) {
    const [, name, table] = CONCURRENT_INDEX.exec(statement) ?? [];
    if (name && table) indexes.set(name, { table, statement });
    const [, dropped] = DROPPED.exec(statement) ?? [];
    for (const [index, { table }] of indexes) if (dropped === index || dropped === table) indexes.delete(index);
  }
  return new Map([...indexes].map(([name, { statement }]) => [name, statement]));
}
