import { sql } from "drizzle-orm";
import { expect, test } from "vitest";
import { openEmbedded } from "../support/embedded.ts";

const STATEMENTS = 20;

// The event loop accepts one connection per turn. Without these turns, a new connection would wait for all requests before it.
test("the event loop turns before every statement of the embedded database, even in a transaction", async () => {
  const database = await openEmbedded();
  const { db } = database;
  let turns = 0;
  let next = setImmediate(function count() {
    turns++;
    next = setImmediate(count);
  });
  const statements = Array.from({ length: STATEMENTS }, () => db.execute(sql`select 1`));
  const transaction = db.transaction(async (tx) => {
    for (let n = 0; n < STATEMENTS; n++) await tx.execute(sql`select 1`);
  });
  await Promise.all([...statements, transaction]);
  clearImmediate(next);
  await database.close();
  expect(turns).toBeGreaterThanOrEqual(2 * STATEMENTS);
});
