import { jobs } from "@board/core/schema/all-tables";
import { beforeEach, expect, test } from "vitest";
import { openEmbedded } from "../support/embedded.ts";
import { setupWorld } from "../support/fixtures.ts";

/** An empty database without any migration. */
const database = await openEmbedded({ empty: true });
const world = await setupWorld({ database });

beforeEach(() => {
  world.log.length = 0;
});

const get = async (path: string) => {
  const answer = await world.call("GET", path, { token: "wrong", agent: "wrong" });
  return [answer.status, answer.body];
};
const takeLog = () => world.log.splice(0).map(({ event, message }) => `${event}: ${message}`);
const alive = [200, { ok: true }];
const unready = [503, { ok: false }];
const applied = "drizzle.__drizzle_migrations";

test("/readyz is 503 until every migration is applied; the log says whether none or only some are applied", async () => {
  expect(await get("/readyz")).toEqual(unready);
  expect(takeLog()).toEqual(["health.not_ready: The database has no tables: no migration was applied"]);
  await database.migrate();
  expect([await get("/readyz"), takeLog()]).toEqual([alive, []]);
  await database.client.exec(`
    create table backup as select * from ${applied};
    delete from ${applied} where created_at = (select max(created_at) from ${applied})`);
  expect(await get("/readyz")).toEqual(unready);
  expect(takeLog()).toEqual(["health.not_ready: The database lacks migrations of this version"]);
  await database.client.exec(`delete from ${applied}; insert into ${applied} select * from backup`);
});

test("/readyz accepts a database with migrations of a newer version, since a roll-back keeps the schema", async () => {
  await database.client.exec(`insert into ${applied} (hash, created_at) select 'newer', max(created_at) + 1 from ${applied}`);
  expect([await get("/readyz"), takeLog()]).toEqual([alive, []]);
  await database.client.exec(`delete from ${applied} where hash = 'newer'`);
});

test("/readyz reports the age of the oldest job and logs a warning when jobs are late, but stays 200", async () => {
  const age = async () => (await world.call("GET", "/readyz")).headers.get("x-job-age-seconds");
  expect([await age(), takeLog()]).toEqual(["0", []]);
  const run_at = world.now();
  await world.db.insert(jobs).values({ kind: "notice", payload: {}, run_at, max_attempts: 1 });
  world.elapse(15 * 60_000);
  expect(Number(await age())).toBeGreaterThanOrEqual(900);
  world.elapse(60_000);
  world.log.length = 0;
  expect(await get("/readyz")).toEqual(alive);
  expect(world.log).toMatchObject([{ event: "health.jobs_late", level: "warn", age_seconds: expect.any(Number) }]);
});

test("/readyz is 503 while the database does not answer; /health and /healthz stay 200", async () => {
  const blocking = database.client.transaction(() => new Promise((resolve) => setTimeout(resolve, 2_500)));
  expect(await get("/readyz")).toEqual(unready);
  expect(takeLog()).toEqual(["health.not_ready: The database did not answer within 2000 ms"]);
  await blocking;
  await database.close();
  expect(await get("/readyz")).toEqual(unready);
  expect(takeLog()).toEqual([expect.stringMatching(/^health\.not_ready: .+clos/)]);
  for (const path of ["/health", "/healthz"]) expect(await get(path)).toEqual(alive);
});
