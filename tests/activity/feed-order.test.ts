import { setTimeout as pause } from "node:timers/promises";
import { openPostgres } from "@board/core/db/postgres";
import { silentLog } from "@board/core/values/log";
import pg from "pg";
import { expect, test } from "vitest";
import { FEED, addReader } from "../support/feed.ts";
import { startPostgres } from "../support/postgres.ts";
import { serve } from "../support/serve.ts";
import { parseEvents } from "../support/sse.ts";
import { addTask, type TaskRow } from "../support/task.ts";
import { createWorld, type Tenant } from "../support/world.ts";

const WRITERS = 8;
const KILLS = 100;
const MOST_HELD_MS = 15;
const LONGEST_READ_MS = 60;

/** Starts writers that insert comments in transactions, which stay open for a while and overlap. */
function startWriters(url: string, { organization_id }: Tenant, task: TaskRow) {
  const committed: string[] = [];
  let writing = true;
  async function write(writer: number) {
    const client = new pg.Client(url);
    await client.connect();
    for (let round = 0; writing; round++) {
      const comments = Array.from({ length: 1 + Math.floor(Math.random() * 3) }, (_, n) => `${writer}.${round}.${n}`);
      await client.query("begin");
      for (const comment of comments) {
        await client.query(
          `insert into activity_events (organization_id, board_id, task_id, event_type, message) values ($1, $2, $3, 'task.comment', $4)`,
          [organization_id, task.board_id, task.id, comment],
        );
        await pause(Math.random() * MOST_HELD_MS);
      }
      const kept = Math.random() > 0.1;
      await client.query(kept ? "commit" : "rollback");
      if (kept) committed.push(...comments);
    }
    await client.end();
  }
  const done = Promise.all(Array.from({ length: WRITERS }, (_, writer) => write(writer)));
  return {
    committed,
    async stop() {
      writing = false;
      await done;
    },
  };
}

/** Reads the stream over a real socket until `ends`, and then cuts the connection. Returns only events that arrived completely. */
async function readFor(url: string, token: string, last: string | undefined, ends: (received: string[]) => boolean) {
  const killer = new AbortController();
  const headers = { authorization: `Bearer ${token}`, ...(last ? { "last-event-id": last } : {}) };
  const response = await fetch(url + (last ? "" : "?since=2000-01-01"), { headers, signal: killer.signal });
  let text = "";
  const events = () => parseEvents(text);
  const messages = () => events().map(({ data }) => data.comment.message as string);
  const reading = (async () => {
    const decoder = new TextDecoder();
    for await (const part of response.body!) text += decoder.decode(part as Uint8Array, { stream: true });
  })().catch((error: unknown) => {
    if (!killer.signal.aborted) throw error;
  });
  while (!ends(messages())) await pause(2);
  killer.abort();
  await reading;
  return { received: messages(), last: events().at(-1)?.id ?? last };
}

test("a stream that is killed and resumed a hundred times delivers every comment of eight overlapping writers exactly once", async () => {
  const postgres = await startPostgres();
  const url = await postgres.createDatabase("feed");
  const database = openPostgres(url, { max: 4, log: silentLog });
  await database.migrate();
  const world = await createWorld({ database, streams: { poll_ms: 10 } });
  const server = await serve(world.app.fetch);
  const stream = `${server.url}${FEED}/stream`;
  const home = await world.tenant("home");
  const granted = await addReader(world, home, "granted", [home.board_id]);
  const writers = startWriters(url, home, await addTask(world, home));

  let cutWhileEventsCame = 0;
  async function readWithKills(token: string): Promise<string[]> {
    const all: string[] = [];
    let last: string | undefined;
    for (let kill = 0; kill < KILLS; kill++) {
      // Every second kill waits for an event, so that a slow machine also cuts connections in the middle of a batch.
      const needed = kill % 2;
      const earliest = performance.now() + Math.random() * LONGEST_READ_MS;
      const latest = earliest + needed * 5_000;
      const read = await readFor(stream, token, last, ({ length }) => performance.now() > (length >= needed ? earliest : latest));
      if (read.received.length > 0) cutWhileEventsCame++;
      all.push(...read.received);
      last = read.last;
    }
    await writers.stop();
    const missing = writers.committed.length - all.length;
    const enough = performance.now() + 20_000;
    const rest = await readFor(stream, token, last, ({ length }) => length >= missing || performance.now() > enough);
    all.push(...rest.received);
    return all;
  }
  const [whole, part] = await Promise.all([home.owner.token, granted.token].map(readWithKills));

  const committed = writers.committed.toSorted();
  expect(committed.length).toBeGreaterThan(KILLS);
  expect(cutWhileEventsCame).toBeGreaterThan(KILLS / 4);
  expect(whole!.toSorted()).toEqual(committed);
  expect(part!.toSorted()).toEqual(committed);
  await world.close();
  await server.close();
  await database.close();
  await postgres.stop();
});
