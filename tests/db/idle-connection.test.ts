import { rowsOf } from "@board/core/db/database";
import { openNeon } from "@board/core/db/neon";
import { silentLog } from "@board/core/values/log";
import { sql } from "drizzle-orm";
import { setTimeout as pause } from "node:timers/promises";
import { expect, test } from "vitest";
import { startNeonProxy } from "../support/neon-proxy.ts";
import { startPostgres } from "../support/postgres.ts";

/** Longer than the driver's default, which closed the connection between most requests of a function. */
const IDLE_MS = 6_000;

test("a function's connection that was idle for several seconds serves the next request", async () => {
  const postgres = await startPostgres();
  const proxy = await startNeonProxy({ port: postgres.port });
  const database = openNeon(await postgres.createDatabase("idle"), { max: 1, proxy: proxy.address, log: silentLog });
  const session = async () => rowsOf(await database.db.execute(sql`select pg_backend_pid() as pid`));
  const before = await session();
  await pause(IDLE_MS);
  expect(await session()).toEqual(before);
  await database.close();
  await proxy.stop();
  await postgres.stop();
});
