import { openPglite } from "@board/core/db/pglite";
import { jobs } from "@board/core/db/schema";
import { afterAll, beforeAll, beforeEach, expect, test } from "vitest";
import { createWorld, type World } from "./support/world.ts";

let database: Awaited<ReturnType<typeof openPglite>>;
let world: World;

/** An empty database: nothing is migrated yet. */
beforeAll(async () => {
  database = await openPglite();
  world = await createWorld({ database });
});
afterAll(() => world.close());
beforeEach(() => {
  world.log.length = 0;
});

const get = async (path: string) => {
  const answer = await world.call("GET", path, { token: "wrong", agent: "wrong" });
  return [answer.status, answer.body];
};
const said = () => world.log.splice(0).map(({ event, message }) => `${event}: ${message}`);
const alive = [200, { ok: true }];
const unready = [503, { ok: false }];
const applied = "drizzle.__drizzle_migrations";

test("/readyz waits for every migration; the log tells none from too few", async () => {
  expect(await get("/readyz")).toEqual(unready);
  expect(said()).toEqual(["health.not_ready: The database has no tables: no migration was applied"]);
  await database.migrate();
  expect([await get("/readyz"), said()]).toEqual([alive, []]);
  await database.client.exec(`
    create table kept as select * from ${applied};
    delete from ${applied} where created_at = (select max(created_at) from ${applied})`);
  expect(await get("/readyz")).toEqual(unready);
  expect(said()).toEqual(["health.not_ready: The database lacks migrations of this version"]);
  await database.client.exec(`delete from ${applied}; insert into ${applied} select * from kept`);
});

test("a schema that a newer version has added to is fine: code is taken back, migrations are not", async () => {
  await database.client.exec(`insert into ${applied} (hash, created_at) select 'newer', max(created_at) + 1 from ${applied}`);
  expect([await get("/readyz"), said()]).toEqual([alive, []]);
  await database.client.exec(`delete from ${applied} where hash = 'newer'`);
});

test("/readyz tells how long jobs have waited, and that they are late, but stays ready", async () => {
  const age = async () => (await world.call("GET", "/readyz")).headers.get("x-job-age-seconds");
  expect([await age(), said()]).toEqual(["0", []]);
  const run_at = world.now();
  await world.db.insert(jobs).values({ kind: "notice", payload: {}, run_at, max_attempts: 1 });
  world.elapse(15 * 60_000);
  expect(Number(await age())).toBeGreaterThanOrEqual(900);
  world.elapse(60_000);
  world.log.length = 0;
  expect(await get("/readyz")).toEqual(alive);
  expect(world.log).toMatchObject([{ event: "health.jobs_late", level: "warn", age_seconds: expect.any(Number) }]);
});

test("/readyz waits for a database that answers; /health and /healthz wait for nothing", async () => {
  const held = database.client.transaction(() => new Promise((resolve) => setTimeout(resolve, 2_500)));
  expect(await get("/readyz")).toEqual(unready);
  expect(said()).toEqual(["health.not_ready: The database did not answer within 2000 ms"]);
  await held;
  await database.close();
  expect(await get("/readyz")).toEqual(unready);
  expect(said()).toEqual([expect.stringMatching(/^health\.not_ready: .+clos/)]);
  for (const path of ["/health", "/healthz"]) expect(await get(path)).toEqual(alive);
});
