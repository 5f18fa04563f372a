import { type Database, rowsOf } from "@board/core/db/database";
import { openPostgres } from "@board/core/db/postgres";
import { silentLog } from "@board/core/values/log";
import { type SQL, sql } from "drizzle-orm";
import { expect, onTestFinished, test } from "vitest";
import { openEmbedded } from "../support/embedded.ts";
import { setup } from "../support/fixtures.ts";
import { startPostgres } from "../support/postgres.ts";
import { createMigrations } from "./migration-folder.ts";

const TABLE = `create table "things" (id int, name text)`;
const INDEX = `CREATE INDEX CONCURRENTLY "things_name" ON "things" USING btree ("name");`;

let databases = 0;

const postgres = await setup(startPostgres());

/** Creates an empty database. Each call of the returned function opens it again. */
async function openEmpty(): Promise<() => Database> {
  const url = await postgres.createDatabase(`indexes_${++databases}`);
  return () => {
    const database = openPostgres(url, { log: silentLog });
    onTestFinished(() => database.close());
    return database;
  };
}

const rows = async <Row>({ db }: Database, statement: SQL) => rowsOf<Row>(await db.execute(statement));
const readIndexes = (database: Database) =>
  rows<{ id: number; valid: boolean }>(
    database,
    sql`select indexrelid::int as id, indisvalid as valid from pg_index where indrelid = 'things'::regclass`,
  );
const building = (database: Database) =>
  rows<{ pid: number }>(database, sql`select pid from pg_stat_activity where query ilike 'create index concurrently%'`);

test("while an index is built concurrently, others read and write the table", async () => {
  const database = (await openEmpty())();
  await database.migrate(await createMigrations(TABLE));
  const folder = await createMigrations(TABLE, INDEX);
  let migrated: Promise<void> | undefined;
  await database.db.transaction(async (writer) => {
    await writer.execute(sql`insert into things values (1, 'writer')`);
    migrated = database.migrate(folder);
    await expect.poll(() => building(database), { timeout: 20_000 }).toHaveLength(1);
    // The index waits for the transaction above. These statements can end only if the index does not block them.
    await database.db.execute(sql`insert into things values (2, 'other')`);
    expect(await rows(database, sql`select id from things`)).toEqual([{ id: 2 }]);
  });
  await migrated;
  expect(await readIndexes(database)).toEqual([{ id: expect.any(Number), valid: true }]);
});

test("an index whose building was interrupted is built again by the next migration", async () => {
  const database = (await openEmpty())();
  await database.migrate(await createMigrations(TABLE));
  const folder = await createMigrations(TABLE, INDEX);
  let migrated: Promise<unknown> | undefined;
  await database.db.transaction(async (writer) => {
    await writer.execute(sql`insert into things values (1, 'writer')`);
    migrated = database.migrate(folder).catch((error: unknown) => error);
    await expect.poll(() => building(database), { timeout: 20_000 }).toHaveLength(1);
    const [{ pid }] = (await building(database)) as [{ pid: number }];
    await database.db.execute(sql`select pg_terminate_backend(${pid})`);
    expect(await migrated).toBeInstanceOf(Error);
  });
  expect(await readIndexes(database)).toEqual([{ id: expect.any(Number), valid: false }]);
  await database.migrate(folder);
  expect(await readIndexes(database)).toEqual([{ id: expect.any(Number), valid: true }]);
});

test("one of several processes that migrate at the same time builds the index, and none waits forever", async () => {
  const open = await openEmpty();
  const folder = await createMigrations(TABLE, INDEX);
  const processes = [open(), open(), open()];
  await Promise.all(processes.map((database) => database.migrate(folder)));
  expect(await readIndexes(processes[0]!)).toEqual([{ id: expect.any(Number), valid: true }]);
});

test("an index that an operator has built before the migration is kept", async () => {
  const database = (await openEmpty())();
  await database.migrate(await createMigrations(TABLE));
  await database.db.execute(sql`create index concurrently things_name on things (name)`);
  const built = await readIndexes(database);
  await database.migrate(await createMigrations(TABLE, INDEX));
  expect(await readIndexes(database)).toEqual(built);
});

test("an index that a later migration drops is not built", async () => {
  const database = (await openEmpty())();
  await database.migrate(await createMigrations(TABLE, INDEX, `DROP INDEX "things_name";`));
  expect(await readIndexes(database)).toEqual([]);
});

test("an index that is dropped concurrently stays in use until the one that replaces it is built", async () => {
  const database = (await openEmpty())();
  const old = `CREATE INDEX "things_id" ON "things" USING btree ("id");`;
  await database.migrate(await createMigrations(TABLE, old));
  const folder = await createMigrations(TABLE, old, `DROP INDEX CONCURRENTLY "things_id";--> statement-breakpoint${INDEX}`);
  const names = () =>
    rows<{ name: string }>(
      database,
      sql`select indexrelid::regclass::text as name from pg_index
    where indrelid = 'things'::regclass order by 1`,
    );
  let migrated: Promise<void> | undefined;
  await database.db.transaction(async (writer) => {
    await writer.execute(sql`insert into things values (1, 'writer')`);
    migrated = database.migrate(folder);
    await expect.poll(() => building(database), { timeout: 20_000 }).toHaveLength(1);
    expect(await names()).toEqual([{ name: "things_id" }, { name: "things_name" }]);
  });
  await migrated;
  expect(await names()).toEqual([{ name: "things_name" }]);
  await database.migrate(folder);
  expect(await names()).toEqual([{ name: "things_name" }]);
});

test("the embedded database builds the index in the migration", async () => {
  const database = await openEmbedded({ empty: true });
  onTestFinished(() => database.close());
  await database.migrate(await createMigrations(TABLE, INDEX));
  expect(await readIndexes(database)).toEqual([{ id: expect.any(Number), valid: true }]);
});
