import { setTimeout as pause } from "node:timers/promises";
import type { Change } from "@board/core/change/source";
import pg from "pg";
import { expect, test } from "vitest";
import { setup } from "../support/fixtures.ts";
import { openServerWorld } from "../support/postgres-world.ts";
import { listen } from "../support/sse.ts";
import type { Tenant } from "../support/world.ts";

const { world, url } = await setup(openServerWorld({ streams: { poll_ms: 10 }, environment: { STREAMS_PER_CALLER: "0" } }, 6));
const home = await world.tenant("home");

const WRITERS = 8;
const TRANSACTIONS = 40;
const HOLD_MS = 8;
const KILLED = 0.08;
const ROLLED_BACK = 0.08;

/** The rows that one writer has stored and not removed. */
interface Rows {
  tasks: string[];
  comments: { id: string; task_id: string }[];
  approvals: string[];
  agents: string[];
}

type Query = (text: string, values?: unknown[]) => Promise<string>;
type Write = (query: Query, rows: Rows) => Promise<string[]>;

const pick = <T>(list: readonly T[]): T | undefined => list[Math.floor(Math.random() * list.length)];
const without = <T>(list: T[], gone: T) => list.splice(list.indexOf(gone), 1);

/** Creates the single writes. Each returns the feed entries that it must cause, and updates `rows` of its transaction. */
const createWrites = ({ board_id, gateway_id, organization_id }: Tenant): Write[] => [
  async (query, { tasks }) => {
    const id = await query("insert into tasks (board_id, title) values ($1, 'T') returning id", [board_id]);
    tasks.push(id);
    return [`task created ${id}`];
  },
  async (query, { tasks }) => {
    const id = pick(tasks);
    if (!id) return [];
    await query("update tasks set description = gen_random_uuid()::text where id = $1", [id]);
    return [`task updated ${id}`];
  },
  async (query, { tasks, comments }) => {
    const id = pick(tasks);
    if (!id) return [];
    const gone = comments.filter(({ task_id }) => task_id === id);
    await query("delete from activity_events where task_id = $1 and event_type = 'task.comment'", [id]);
    await query("delete from tasks where id = $1", [id]);
    without(tasks, id);
    for (const comment of gone) without(comments, comment);
    return [`task removed ${id}`, ...gone.map((comment) => `comment removed ${comment.id}`)];
  },
  async (query, { tasks, comments }) => {
    const task_id = pick(tasks);
    if (!task_id) return [];
    const values = [organization_id, board_id, task_id];
    const id = await query(
      "insert into activity_events (organization_id, board_id, task_id, event_type, message) values ($1, $2, $3, 'task.comment', 'Hm') returning id",
      values,
    );
    comments.push({ id, task_id });
    return [`comment created ${id}`];
  },
  async (query, { approvals }) => {
    const id = await query("insert into approvals (board_id, action_type) values ($1, 'Do') returning id", [board_id]);
    approvals.push(id);
    return [`approval created ${id}`];
  },
  async (query, { approvals }) => {
    const id = pick(approvals);
    if (!id) return [];
    await query("update approvals set change_seq = nextval('change_seq') where id = $1", [id]);
    return [`approval updated ${id}`];
  },
  async (query) => [
    `memory created ${await query("insert into board_memory (board_id, content) values ($1, 'M') returning id", [board_id])}`,
  ],
  async (query, { agents }) => {
    const id = await query(
      "insert into agents (gateway_id, board_id, name) values ($1, $2, gen_random_uuid()::text) returning id",
      [gateway_id, board_id],
    );
    agents.push(id);
    return [`agent created ${id}`];
  },
  async (query, { agents }) => {
    const id = pick(agents);
    if (!id) return [];
    await query("update agents set status = 'ready', change_seq = nextval('change_seq') where id = $1", [id]);
    return [`agent updated ${id}`];
  },
  async (query, { agents }) => {
    const id = pick(agents);
    if (!id) return [];
    await query("delete from agents where id = $1", [id]);
    without(agents, id);
    return [`agent removed ${id}`];
  },
  async (query) => {
    const id = await query(
      "insert into boards (organization_id, gateway_id, name, slug, description) values ($1, $2, 'B', gen_random_uuid()::text, 'B') returning id",
      [organization_id, gateway_id],
    );
    await query("update boards set description = 'C' where id = $1", [id]);
    await query("delete from boards where id = $1", [id]);
    return ["created", "updated", "removed"].map((action) => `board ${action} ${id}`);
  },
];

/** Runs overlapping transactions; some are rolled back and some sessions are killed in the middle of one. */
async function write(writes: readonly Write[], committed: string[], counts: { killed: number }): Promise<void> {
  let rows: Rows = { tasks: [], comments: [], approvals: [], agents: [] };
  let client = await connect();
  const query: Query = async (text, values) => (await client.query(text, values)).rows[0]?.id;
  for (let round = 0; round < TRANSACTIONS; round++) {
    const trial = structuredClone(rows);
    const entries: string[] = [];
    await client.query("begin");
    for (let step = 1 + Math.floor(Math.random() * 3); step > 0; step--) {
      entries.push(...(await pick(writes)!(query, trial)));
      await pause(Math.random() * HOLD_MS);
    }
    const chance = Math.random();
    if (chance < KILLED) {
      await client.query("select pg_terminate_backend(pg_backend_pid())").catch(() => {});
      client = await connect();
      counts.killed++;
    } else if (chance < KILLED + ROLLED_BACK) await client.query("rollback");
    else {
      await client.query("commit");
      // The feed has only one entry for an item that a transaction has changed several times.
      committed.push(...new Set(entries));
      rows = trial;
    }
  }
  await client.end();
}

async function connect(): Promise<pg.Client> {
  const client = new pg.Client(url);
  client.on("error", () => {});
  await client.connect();
  return client;
}

const toLine = ({ type, action, id }: Change) => `${type} ${action} ${id}`;

/** Reads pages of random sizes until `isDone`, and then to the end. */
async function readPages(cursor: string, isDone: () => boolean): Promise<Change[]> {
  const received: Change[] = [];
  for (let last = false; ; ) {
    const limit = 1 + Math.floor(Math.random() * 30);
    const answer = await world.call("GET", `/api/v1/changes?limit=${limit}&cursor=${cursor}`, { token: home.owner.token });
    if (answer.status !== 200) throw new Error(answer.text);
    received.push(...answer.body.changes);
    cursor = answer.body.cursor;
    if (last && !answer.body.has_more) return received;
    last = isDone();
    await pause(5);
  }
}

/** Follows the stream, is cut off at random moments and resumes after the last event. */
async function follow(
  cursor: string,
  isDone: (received: readonly Change[]) => boolean,
): Promise<{ received: Change[]; cuts: number }> {
  const received: Change[] = [];
  for (let cuts = 0; ; cuts++) {
    const path = `/api/v1/changes/stream?cursor=${cursor}`;
    const last = received.at(-1)?.cursor;
    const listener = await listen((target, init) => world.app.request(target, init), path, { token: home.owner.token, last });
    const ends = performance.now() + Math.random() * 150;
    // The connection is not cut before the first event, because otherwise a slow machine would never make progress.
    const isStuck = () => listener.events().length === 0 && !isDone(received);
    while (performance.now() < ends || isStuck()) await pause(5);
    const events = listener.events();
    for (const { id, event, data } of events) expect([event, id]).toEqual(["change", data.cursor]);
    received.push(...events.map(({ data }) => data as Change));
    await listener.close();
    if (isDone(received)) return { received, cuts };
  }
}

test("readers receive exactly what eight writers committed, once and in one order, for every type and despite cuts and kills", async () => {
  const start = await world.call("GET", "/api/v1/changes", { token: home.owner.token });
  const { cursor } = start.body;
  const committed: string[] = [];
  const counts = { killed: 0 };
  let writing = true;
  const writers = Array.from({ length: WRITERS }, () => write(createWrites(home), committed, counts));
  const isDone = () => !writing;
  const readers = [1, 2].map(() => readPages(cursor, isDone));
  const streams = [1, 2].map(() => follow(cursor, (received) => !writing && received.length >= committed.length));
  await Promise.all(writers);
  writing = false;
  const pages = await Promise.all(readers);
  const followed = await Promise.all(streams);

  expect(counts.killed).toBeGreaterThan(5);
  expect(committed.length).toBeGreaterThan(300);
  expect(new Set(committed.map((line) => line.split(" ")[0]))).toEqual(
    new Set(["task", "comment", "approval", "memory", "agent", "board"]),
  );
  const expected = committed.toSorted();
  const order = pages[0]!.map(toLine);
  expect(order.toSorted()).toEqual(expected);
  for (const received of [pages[1]!, ...followed.map((stream) => stream.received)]) expect(received.map(toLine)).toEqual(order);
  for (const { cuts } of followed) expect(cuts).toBeGreaterThan(3);
});

test("a change that is committed after later changes is not skipped, and delays the later changes only until its commit", async () => {
  const [slow, quick] = [await connect(), await connect()];
  const { cursor } = (await world.call("GET", "/api/v1/changes", { token: home.owner.token })).body;
  const read = async () => (await readPages(cursor, () => true)).map(({ type }) => type);
  await slow.query("begin");
  await slow.query("insert into tasks (board_id, title) values ($1, 'Slow')", [home.board_id]);
  await quick.query("insert into board_memory (board_id, content) values ($1, 'Quick')", [home.board_id]);
  expect(await read()).toEqual([]);
  await slow.query("commit");
  expect(await read()).toEqual(["task", "memory"]);
  await Promise.all([slow.end(), quick.end()]);
});
