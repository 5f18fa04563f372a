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

/** Whether the database has every migration of this code. Throws when it does not answer. */
export async function isMigrated(db: Db): Promise<boolean> {
  const found = await db.execute(sql`select to_regclass('drizzle.__drizzle_migrations') is not null as present`);
  if (!rowsOf<{ present: boolean }>(found)[0]?.present) return false;
  const applied = await db.execute(sql`select max(created_at)::text as latest from drizzle.__drizzle_migrations`);
  return Number(rowsOf<{ latest: string | null }>(applied)[0]?.latest ?? 0) >= LATEST;
}

/** Rows of a raw statement; every driver answers with an object that holds them. */
export function rowsOf<Row>(result: unknown): Row[] {
  return (result as { rows: Row[] }).rows;
}
