import { rowsOf } from "@board/core/db/database";
import { storedTextBytes } from "@board/core/organization/stored-text";
import { organization_text_usage, organizations } from "@board/core/schema/all-tables";
import { scheduled } from "@board/api/work/schedules";
import { eq, sql } from "drizzle-orm";
import pg from "pg";
import { expect, test } from "vitest";
import { renew, setup } from "../support/fixtures.ts";
import { openServerWorld } from "../support/postgres-world.ts";

const LIMIT = 200_000;
const WRITERS = 12;
const TEXT = "x".repeat(1_000);

const server = await setup(openServerWorld({ limits: { organization_text_bytes: LIMIT } }));
const { world } = server;

const home = renew((n) => world.tenant(`home-${n}`));

const shards = () =>
  world.db.select().from(organization_text_usage).where(eq(organization_text_usage.organization_id, home.organization_id));
const used = async () => (await shards()).reduce((sum, { bytes }) => sum + bytes, 0);
async function stored(): Promise<number> {
  const result = await world.db.execute(sql`select ${storedTextBytes(home.organization_id)}::int as bytes`);
  return rowsOf<{ bytes: number }>(result)[0]!.bytes;
}
const remember = (content = TEXT) =>
  world.call("POST", `/api/v1/boards/${home.board_id}/memory`, { token: home.owner.token, body: { content } });

test("parallel writers exceed the budget by at most what they store at the same moment, and each text is counted once", async () => {
  const statuses = new Set<number>();
  const write = async () => {
    for (let refused = 0; refused < 2; ) {
      const { status } = await remember();
      statuses.add(status);
      if (status === 409) refused++;
    }
  };
  await Promise.all(Array.from({ length: WRITERS }, write));
  expect(statuses).toEqual(new Set([200, 409]));
  // A row counts as its text, its source and 200 more bytes.
  const most = TEXT.length + 300;
  expect(await used()).toBeGreaterThan(LIMIT - most);
  expect(await used()).toBeLessThanOrEqual(LIMIT + WRITERS * most);
  expect(await stored()).toBe(await used());
  expect((await shards()).length).toBeLessThanOrEqual(WRITERS + 1);
});

test("a writer does not wait for another writer of its organization whose transaction stays open", async () => {
  const outside = new pg.Client(server.url);
  await outside.connect();
  try {
    await outside.query("begin");
    await outside.query("insert into board_memory (board_id, content) values ($1, 'x')", [home.board_id]);
    expect((await remember()).status).toBe(200);
    expect((await remember()).status).toBe(200);
    await outside.query("commit");
  } finally {
    await outside.end();
  }
  expect(await stored()).toBe(await used());
});

test("a recount while texts are stored and removed finds no error", async () => {
  const path = `/api/v1/boards/${home.board_id}/tasks`;
  let done = false;
  const write = async () => {
    for (let round = 0; round < 10; round++) {
      const task = await world.call("POST", path, { token: home.owner.token, body: { title: "T", description: TEXT } });
      await remember();
      await world.call("DELETE", `${path}/${task.body.id}`, { token: home.owner.token });
    }
  };
  const recount = async () => {
    while (!done) {
      await world.db.update(organizations).set({ texts_counted_at: null });
      await scheduled.retention(world.context());
    }
  };
  const recounting = recount();
  await Promise.all(Array.from({ length: 6 }, write)).finally(() => (done = true));
  await recounting;
  expect(await stored()).toBe(await used());
});
