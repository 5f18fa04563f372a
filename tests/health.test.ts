import { openPglite } from "@board/core/db/pglite";
import { afterAll, beforeAll, expect, test } from "vitest";
import { createWorld, type World } from "./support/world.ts";

let database: Awaited<ReturnType<typeof openPglite>>;
let world: World;

/** An empty database: nothing is migrated yet. */
beforeAll(async () => {
  database = await openPglite();
  world = await createWorld({ database });
});
afterAll(() => world.close());

const get = async (path: string) => {
  const answer = await world.call("GET", path, { token: "wrong", agent: "wrong" });
  return [answer.status, answer.body];
};
const alive = [200, { ok: true }];
const unready = [503, { ok: false }];

test("/readyz waits for every migration and for a database that answers; /health and /healthz wait for nothing", async () => {
  expect(await get("/readyz")).toEqual(unready);
  await database.migrate();
  expect(await get("/readyz")).toEqual(alive);
  const applied = "drizzle.__drizzle_migrations";
  await database.client.exec(`delete from ${applied} where created_at = (select max(created_at) from ${applied})`);
  expect(await get("/readyz")).toEqual(unready);
  await database.close();
  expect(await get("/readyz")).toEqual(unready);
  for (const path of ["/health", "/healthz"]) expect(await get(path)).toEqual(alive);
});
