import { rowsOf } from "@board/core/db/database";
import { openPostgres } from "@board/core/db/postgres";
import { silentLog } from "@board/core/values/log";
import { type SQL, sql } from "drizzle-orm";
import { expect, onTestFinished, test } from "vitest";
import { startPostgres } from "../support/postgres.ts";
import { createMigrations } from "./migration-folder.ts";

test("a migration that waits for a table in use lets others read the table, and is applied once it is free", async () => {
  const postgres = await startPostgres();
  onTestFinished(() => postgres.stop());
  const database = openPostgres(await postgres.createDatabase("locked"), { log: silentLog });
  onTestFinished(() => database.close());
  const { db } = database;
  await db.execute(sql`create table things (id int)`);
  const folder = await createMigrations("alter table things add column name text");
  const countRows = async (statement: SQL) => rowsOf(await db.execute(statement)).length;
  const waiting = () =>
    countRows(sql`select 1 from pg_stat_activity where query like 'alter table%' and wait_event_type = 'Lock'`);

  let migrated: Promise<void> | undefined;
  await db.transaction(async (holder) => {
    await holder.execute(sql`select * from things`);
    migrated = database.migrate(folder);
    await expect.poll(waiting, { timeout: 10_000 }).toBe(1);
    // The transaction holds its lock until this read has ended, so the read can end only if the migration stops waiting.
    await db.execute(sql`select * from things`);
  });
  await migrated;
  expect(await countRows(sql`select 1 from information_schema.columns where table_name = 'things'`)).toBe(2);
});
