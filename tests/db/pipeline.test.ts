import { once } from "node:events";
import { type AddressInfo, connect, createServer } from "node:net";
import { type Context, FinalWrites, transaction } from "@board/core/context/context";
import { type Database, rowsOf } from "@board/core/db/database";
import { openNeon } from "@board/core/db/neon";
import { openPostgres } from "@board/core/db/postgres";
import { isLockFailure, violatedUniqueIndex } from "@board/core/db/query-error";
import { silentLog } from "@board/core/values/log";
import { sql } from "drizzle-orm";
import { afterAll, beforeAll, beforeEach, describe, expect, test } from "vitest";
import { startNeonProxy } from "../support/neon-proxy.ts";
import { startPostgres } from "../support/postgres.ts";

/** Packets that were sent to the server. */
let sent = 0;
const databases: Database[] = [];

const postgres = await startPostgres();
const proxy = createServer((near) => {
  const far = connect({ port: postgres.port, host: "127.0.0.1", noDelay: true });
  near.setNoDelay(true).on("data", () => sent++);
  near.pipe(far).pipe(near);
  for (const socket of [near, far]) socket.on("error", () => [near, far].forEach((end) => end.destroy()));
}).listen(0, "127.0.0.1");
await once(proxy, "listening");
const neon = await startNeonProxy({ port: (proxy.address() as AddressInfo).port });
afterAll(async () => {
  for (const database of databases) await database.close();
  await neon.stop();
  proxy.close();
  await postgres.stop();
});

const options = { max: 1, log: silentLog };
const drivers = {
  "node-postgres": (url: string, prepare: boolean) => openPostgres(url, { ...options, prepare }),
  "Neon's driver": (url: string, prepare: boolean) => openNeon(url, { ...options, prepare, proxy: neon.address }),
};
const cases = (Object.keys(drivers) as (keyof typeof drivers)[]).flatMap((driver) =>
  [true, false].map((prepare) => ({ name: `${driver} ${prepare ? "with" : "without"} prepared statements`, driver, prepare })),
);

describe.each(cases)("the pipeline of $name", ({ name, driver, prepare }) => {
  let database: Database;
  let ctx: Context;
  const insert = (n: number | null) => sql`insert into numbers (n) values (${n})`;
  const read = (on: Context = ctx) =>
    on.db.execute(sql`select n from numbers order by n`).then((found) => rowsOf<{ n: number }>(found).map(({ n }) => n));

  beforeAll(async () => {
    const url = new URL(await postgres.createDatabase(name.replaceAll(/\W/g, "_")));
    url.port = String((proxy.address() as AddressInfo).port);
    database = drivers[driver](url.href, prepare);
    databases.push(database);
    ctx = { db: database.db } as Context;
    await database.db.execute(
      sql`create table numbers (n integer not null constraint numbers_n unique deferrable initially immediate)`,
    );
  });
  beforeEach(async () => void (await database.db.execute(sql`truncate numbers`)));

  test("a transaction that commits sends one packet for each time its code waits", async () => {
    for (let n = 0; n < 8; n++) {
      // Uses the connection first, because Neon's driver checks a connection that was idle for a second, and that is a packet too.
      await read();
      const before = sent;
      const found = await transaction(ctx, async (ctx) => {
        const [first] = await Promise.all([read(ctx), ctx.db.execute(insert(n))]);
        expect(await read(ctx)).toHaveLength(n + 1);
        return new FinalWrites(async () => {
          await ctx.db.execute(insert(n + 100));
          return first;
        });
      });
      expect(sent - before).toBe(3);
      expect(found).toHaveLength(n === 0 ? 0 : n);
      await database.db.execute(sql`delete from numbers where n >= 100`);
    }
  });

  test("statements that are sent together see the writes of the statements before them", async () => {
    const [, found] = await transaction(ctx, ({ db }) =>
      Promise.all([insert(1), sql`select n from numbers`].map((query) => db.execute(query))),
    );
    expect(rowsOf(found)).toEqual([{ n: 1 }]);
  });

  test("a transaction that runs no statement sends nothing", async () => {
    await transaction(ctx, async () => {});
    const before = sent;
    await transaction(ctx, async () => {});
    await expect(transaction(ctx, () => Promise.reject(new Error("no")))).rejects.toThrow("no");
    expect(sent).toBe(before);
  });

  test.each([
    ["the first statement", [null, 2, 3], [4]],
    ["a statement in the middle", [1, null, 3], [4]],
    ["the last statement before the final writes", [1, 2, null], [4]],
    ["one of the final writes", [1, 2, 3], [4, null, 5]],
    ["the last of the final writes", [1, 2, 3], [4, 5, null]],
  ])("nothing is committed when %s fails, and the connection stays usable", async (_which, first, last) => {
    for (let attempt = 0; attempt < 6; attempt++) {
      const failing = transaction(ctx, async (ctx) => {
        await Promise.all(first.map((n) => ctx.db.execute(insert(n))));
        return new FinalWrites(() => Promise.all(last.map((n) => ctx.db.execute(insert(n)))));
      });
      await expect(failing).rejects.toMatchObject({
        cause: { code: "23502" },
        message: expect.stringContaining("insert into numbers"),
      });
      expect(await read()).toEqual([]);
    }
  });

  test("a failing final write makes the transaction fail with the statement's own error", async () => {
    const failing = transaction(
      ctx,
      async (ctx) => new FinalWrites(() => Promise.all([1, 1].map((n) => ctx.db.execute(insert(n))))),
    );
    expect(violatedUniqueIndex(await failing.catch((error: unknown) => error))).toBe("numbers_n");
    expect(await read()).toEqual([]);
  });

  test("a violated constraint that is checked at the end makes the COMMIT fail", async () => {
    const failing = transaction(ctx, async (ctx) => {
      await ctx.db.execute(sql`set constraints all deferred`);
      return new FinalWrites(() => Promise.all([1, 1].map((n) => ctx.db.execute(insert(n)))));
    });
    expect(violatedUniqueIndex(await failing.catch((error: unknown) => error))).toBe("numbers_n");
    expect(await read()).toEqual([]);
  });

  test("a transaction fails and commits nothing if its code continues after a failed statement", async () => {
    const failing = transaction(ctx, async (ctx) => {
      await ctx.db.execute(insert(1));
      await ctx.db.execute(insert(null)).catch(() => {});
    });
    await expect(failing).rejects.toMatchObject({ cause: { code: "23502" } });
    expect(await read()).toEqual([]);
  });

  test("a savepoint undoes what failed inside it, and the transaction around it commits", async () => {
    await database.db.transaction(async (db) => {
      const outer = { ...ctx, db, request_transaction: db } as Context;
      await db.execute(insert(1));
      const inner = transaction(
        outer,
        async (ctx) => new FinalWrites(() => Promise.all([ctx.db.execute(insert(2)), ctx.db.execute(insert(null))])),
      );
      await expect(inner).rejects.toMatchObject({ cause: { code: "23502" } });
      await transaction(outer, async (ctx) => new FinalWrites(() => ctx.db.execute(insert(3))));
    });
    expect(await read()).toEqual([1, 3]);
  });

  test("an error thrown in a transaction undoes its statements, whether they were already sent or not", async () => {
    const failing = transaction(ctx, async (ctx) => {
      await ctx.db.execute(insert(1));
      ctx.db.execute(insert(2)).catch(() => {});
      throw new Error("stop");
    });
    await expect(failing).rejects.toThrow("stop");
    expect(await read()).toEqual([]);
  });

  test("SQL with several statements in one string runs completely", async () => {
    await transaction(ctx, (ctx) => ctx.db.execute(sql`insert into numbers values (1); insert into numbers values (2)`));
    expect(await read()).toEqual([1, 2]);
  });

  test("a lock that is not acquired makes the transaction fail with the lock's own error", async () => {
    const other = openPostgres(postgres.url(name.replaceAll(/\W/g, "_")), { max: 1, log: silentLog });
    await database.db.execute(insert(1));
    await other.db.transaction(async (db) => {
      await db.execute(sql`lock table numbers`);
      const failing = transaction(ctx, async (ctx) => {
        await ctx.db.execute(sql`select set_config('lock_timeout', '50', true)`);
        return new FinalWrites(() => ctx.db.execute(insert(2)));
      });
      expect(isLockFailure(await failing.catch((error: unknown) => error))).toBe(true);
    });
    await other.close();
    expect(await read()).toEqual([1]);
  });
});
