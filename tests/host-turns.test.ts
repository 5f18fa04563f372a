import { setTimeout as pause } from "node:timers/promises";
import { type Context, transaction } from "@board/core/context";
import { openPostgres } from "@board/core/db/postgres";
import type { Database } from "@board/core/db/database";
import { host_turns } from "@board/core/db/schema";
import { takeTurn } from "@board/core/gateway/turn";
import { silent } from "@board/core/log";
import { scheduled } from "@board/core/schedule";
import { eq, sql } from "drizzle-orm";
import { afterAll, beforeAll, beforeEach, expect, test } from "vitest";
import { type Postgres, startPostgres } from "./support/postgres.ts";
import { createWorld, type World } from "./support/world.ts";

/** Two processes as the database sees them: each with connections of its own. */
let postgres: Postgres;
let database: Database;
let narrow: Database;
let world: World;
let here: Context;
let there: Context;
let gateway_id: string;

beforeAll(async () => {
  postgres = await startPostgres();
  const url = await postgres.createDatabase("turns");
  database = openPostgres(url, { max: 10, log: silent });
  narrow = openPostgres(url, { max: 1, log: silent });
  await database.migrate();
  world = await createWorld({ database });
  here = world.context();
  there = { ...world.context(), db: narrow.db };
});
afterAll(async () => {
  await world?.close();
  await narrow?.close();
  await database?.close();
  await postgres?.stop();
});
beforeEach(() => {
  gateway_id = crypto.randomUUID();
});

const LONG = { wait_ms: 20_000 };
const turns = () => world.db.select().from(host_turns);
/** As if the holder had not been heard of for a minute. */
const abandon = () =>
  world.db.update(host_turns).set({ held_until: sql`now() - interval '1 ms'` }).where(eq(host_turns.gateway_id, gateway_id));

test("who wants to write waits for who writes, over all processes, and for the spacing after it", async () => {
  let inside = 0;
  const most: number[] = [];
  const gaps: number[] = [];
  let ended = Number.NEGATIVE_INFINITY;
  const write = async (ctx: Context) => {
    const turn = await takeTurn(ctx, gateway_id, LONG);
    gaps.push(performance.now() - ended);
    most.push(++inside);
    await pause(5);
    inside--;
    ended = performance.now();
    await turn.release(150);
  };
  await Promise.all(Array.from({ length: 8 }, (_, index) => write(index % 2 === 0 ? here : there)));
  expect(most).toEqual(Array(8).fill(1));
  // The instants of the table are whole milliseconds.
  for (const gap of gaps) expect(gap).toBeGreaterThanOrEqual(149);
});

test("a gateway's turn is no other gateway's business", async () => {
  const first = await takeTurn(here, gateway_id, LONG);
  const second = await takeTurn(there, crypto.randomUUID(), { wait_ms: 0 });
  const holders = (await turns()).filter(({ holder }) => holder !== null);
  expect(holders).toHaveLength(2);
  await Promise.all([first.release(0), second.release(0)]);
});

test("nobody holds a connection meanwhile: one is enough for a holder, many who wait, and everything else", async () => {
  const holder = await takeTurn(there, gateway_id, LONG);
  const waiting = Array.from({ length: 5 }, () =>
    takeTurn(there, gateway_id, LONG).then(async (turn) => {
      await turn.release(0);
      return "written";
    }),
  );
  await pause(300);
  expect((await there.db.select().from(host_turns)).length).toBeGreaterThan(0);
  await holder.release(0);
  expect(await Promise.all(waiting)).toEqual(Array(5).fill("written"));
});

test("it is not waited for without end, and the error says what is the matter", async () => {
  const holder = await takeTurn(here, gateway_id, LONG);
  await expect(takeTurn(there, gateway_id, { wait_ms: 300 })).rejects.toMatchObject({
    message: expect.stringContaining("configuration is busy"),
    failure: { retryable: true },
  });
  const stopping = new AbortController();
  const waiting = takeTurn(there, gateway_id, { ...LONG, signal: stopping.signal });
  stopping.abort();
  await expect(waiting).rejects.toThrow("aborted");
  await holder.release(0);
});

test("a holder that is never heard of again loses it, and its late end takes nothing from the next one", async () => {
  const lost = await takeTurn(here, gateway_id, LONG);
  const [held] = (await turns()).filter((turn) => turn.gateway_id === gateway_id);
  expect(held!.held_until.getTime() - Date.now()).toBeGreaterThan(50_000);
  await expect(takeTurn(there, gateway_id, { wait_ms: 0 })).rejects.toThrow("busy");
  await abandon();
  const next = await takeTurn(there, gateway_id, { wait_ms: 0 });
  await lost.release(0);
  await expect(takeTurn(here, gateway_id, { wait_ms: 0 })).rejects.toThrow("busy");
  await next.release(0);
  await (await takeTurn(here, gateway_id, { wait_ms: 0 })).release(0);
});

test("long work keeps it", async () => {
  const holder = await takeTurn(here, gateway_id, { ...LONG, held_ms: 900 });
  await expect(takeTurn(there, gateway_id, { wait_ms: 2_000 })).rejects.toThrow("busy");
  await holder.release(0);
});

test("it is never taken inside a transaction", async () => {
  await expect(transaction(here, (ctx) => takeTurn(ctx, gateway_id, LONG))).rejects.toThrow("inside a transaction");
});

test("the turns of gateways that are gone are swept, one that somebody has is not", async () => {
  const { gateway_id: stays } = await world.tenant("home");
  const held = crypto.randomUUID();
  await (await takeTurn(here, stays, LONG)).release(0);
  await (await takeTurn(here, gateway_id, LONG)).release(0);
  const holder = await takeTurn(here, held, LONG);
  await pause(5);
  await scheduled.retention(world.context());
  const left = (await turns()).map((turn) => turn.gateway_id);
  expect([left.includes(stays), left.includes(held), left.includes(gateway_id)]).toEqual([true, true, false]);
  await holder.release(0);
  await (await takeTurn(here, gateway_id, { wait_ms: 0 })).release(0);
});
