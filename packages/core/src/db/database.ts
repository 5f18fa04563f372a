import { fileURLToPath } from "node:url";
import { sql } from "drizzle-orm";
import journal from "../../../../migrations/meta/_journal.json" with { type: "json" };
import type { Db } from "../context.ts";

/** An open database: the handle that the domain uses, and what its owner does with it. */
export interface Database {
  db: Db;
  /** Applies what is missing, once, whoever else starts at the same time. `folder` is where the migrations lie. */
  migrate(folder?: string): Promise<void>;
  close(): Promise<void>;
}

export const migrationsFolder = () => fileURLToPath(new URL("../../../../migrations", import.meta.url));

/** Any fixed number: all processes that migrate wait for the same advisory lock. */
const MIGRATION_LOCK = 4_207_119;

interface LockingClient {
  query(text: string, values?: unknown[]): Promise<unknown>;
  release(destroy?: boolean): void;
}

/** Runs `migrate` on one connection of a server while no other process migrates. The lock belongs to the session and ends with it. */
export async function migrateAlone(client: LockingClient, migrate: () => Promise<void>): Promise<void> {
  try {
    await client.query("select pg_advisory_lock($1)", [MIGRATION_LOCK]);
    await migrate();
  } finally {
    client.release(true);
  }
}

const LATEST = Math.max(...journal.entries.map((entry) => entry.when));

/**
 * How a database's schema stands to this code. `newer` is as good as `current`: a deployment migrates before its code goes
 * live, and one that is taken back leaves the schema, to which migrations only add.
 */
export type SchemaState = "absent" | "older" | "current" | "newer";

/** Throws when the database does not answer. */
export async function readSchemaState(db: Db): Promise<SchemaState> {
  const found = await db.execute(sql`select to_regclass('drizzle.__drizzle_migrations') is not null as present`);
  if (!rowsOf<{ present: boolean }>(found)[0]?.present) return "absent";
  const applied = await db.execute(sql`select max(created_at)::text as latest from drizzle.__drizzle_migrations`);
  const latest = Number(rowsOf<{ latest: string | null }>(applied)[0]?.latest ?? 0);
  if (latest === 0) return "absent";
  return latest < LATEST ? "older" : latest === LATEST ? "current" : "newer";
}

/** Whether the database has every migration of this code. Throws when it does not answer. */
export async function isMigrated(db: Db): Promise<boolean> {
  const state = await readSchemaState(db);
  return state === "current" || state === "newer";
}

/** Rows of a raw statement; every driver answers with an object that holds them. */
export function rowsOf<Row>(result: unknown): Row[] {
  return (result as { rows: Row[] }).rows;
}
