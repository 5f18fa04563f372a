import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import path from "node:path";
import { openPglite } from "@board/core/db/pglite";
import { expect, onTestFinished, test } from "vitest";

const MEGABYTE = 1_000_000;

test("the write-ahead log of the embedded database is kept short, so that it does not fill the disk", async () => {
  const folder = mkdtempSync(path.join(tmpdir(), "board-log-"));
  onTestFinished(() => rmSync(folder, { recursive: true }));
  const database = await openPglite({ folder });
  onTestFinished(() => database.close());
  const { client } = database;
  const logBytes = async () => {
    const { rows } = await client.query<{ bytes: number }>("select sum(size)::float8 as bytes from pg_ls_waldir()");
    return rows[0]!.bytes;
  };
  await client.exec("create table things (id int, name text)");
  for (let round = 0; round < 3; round++)
    await client.exec("insert into things select i, repeat('x', 900) from generate_series(1, 100000) i; truncate things");
  expect(await logBytes()).toBeGreaterThan(250 * MEGABYTE);
  await expect.poll(logBytes, { timeout: 30_000, interval: 500 }).toBeLessThan(150 * MEGABYTE);
});
