import { followFeed } from "@board/core/activity/feed-stream";
import { countNewEvents } from "@board/core/activity/count-new-events";
import type { Member, System } from "@board/core/context/actor";
import type { Context } from "@board/core/context/context";
import type { Db } from "@board/core/context/db";
import { rowsOf } from "@board/core/db/database";
import { activity_events, boards, tasks } from "@board/core/schema/all-tables";
import type { ReadWindow } from "@board/core/stream/source";
import { sql } from "drizzle-orm";
import { type BenchEnvironment } from "./environment.ts";
import { rate, round, type Row } from "./row.ts";

const EVENTS = 1_000_000;
/** One event in this many is a comment. */
const COMMENTS = 5;
const BOARDS = 20;
const TASKS_OF_A_BOARD = 100;
const PAGE = 50;
const POLLS = 300;
const benchBoards = sql`(select id from ${boards} where slug like 'feed-%')`;

/** The comment feed with a million events: its first page, and the poll of a stream every two seconds. */
export async function benchFeed(place: BenchEnvironment): Promise<Row[]> {
  const { db, get, count, compareToFloor, service, authorization, gateway } = place;
  await fill(db, gateway.id);
  const plain = sql`select * from ${activity_events} where event_type = 'task.comment' and board_id in ${benchBoards}
    order by created_at desc, id desc limit ${PAGE}`;
  const plain_ms = await unindexed(db, plain);
  const path = `/api/v1/activity/task-comments?limit=${PAGE}`;
  await get(path, { authorization }, 300);
  const page = await get(path, { authorization }, 2_000);
  const request = () => fetch(service.url + path, { headers: { authorization } });
  const floor = await compareToFloor(page, request);
  const statements = await count(request);
  const { quiet_ms, news_ms, unindexed_ms } = await poll(db);
  await db.delete(boards).where(sql`${boards.id} in ${benchBoards}`);
  await db.delete(activity_events);
  const what = `of ${EVENTS.toLocaleString("en")} events`;
  const slow = (ms: number) => `the same without an index: ${round(ms)} ms`;
  return [
    {
      what: `feed, ${PAGE} of ${(EVENTS / COMMENTS).toLocaleString("en")} comments ${what}`,
      figure: rate(page),
      target: "",
      baseline: slow(plain_ms),
      ratio: `${round(plain_ms / page.p50_ms)}x`,
      ...floor,
      statements,
    },
    {
      what: `a stream's poll without news, ${what}`,
      figure: `p50 ${round(quiet_ms)} ms`,
      target: "",
      baseline: slow(unindexed_ms),
      ratio: `${Math.round(unindexed_ms / quiet_ms)}x`,
      statements: "1",
    },
    {
      what: `a stream's poll with ${PAGE} new comments, ${what}`,
      figure: `p50 ${round(news_ms)} ms`,
      target: "",
      baseline: slow(unindexed_ms),
      ratio: `${Math.round(unindexed_ms / news_ms)}x`,
      statements: "1",
    },
  ];
}

async function fill(db: Db, gateway_id: string): Promise<void> {
  await db.execute(sql`insert into ${boards} (organization_id, gateway_id, name, slug, description)
    select organization_id, id, 'Feed ' || n, 'feed-' || n, 'Bench' from gateways, generate_series(1, ${BOARDS}::int) as n
    where id = ${gateway_id}`);
  await db.execute(sql`insert into ${tasks} (board_id, title)
    select board.id, 'Task ' || n from ${boards} as board, generate_series(1, ${TASKS_OF_A_BOARD}::int) as n where board.id in ${benchBoards}`);
  await db.execute(sql`
    with task as (select array_agg(id) as ids, array_agg(board_id) as board_ids from ${tasks} where board_id in ${benchBoards}),
      place as (select n, 1 + n % ${BOARDS * TASKS_OF_A_BOARD}::int as at from generate_series(1, ${EVENTS}::int) as n)
    insert into ${activity_events} (organization_id, board_id, task_id, event_type, message, created_at)
    select (select organization_id from gateways where id = ${gateway_id}), task.board_ids[place.at], task.ids[place.at],
      case when n % ${COMMENTS}::int = 0 then 'task.comment' else 'task.updated' end, 'Number ' || n,
      now() - (${EVENTS}::int - n) * interval '2 seconds'
    from task, place`);
  await countNewEvents({ db, actor: { type: "system" } } as Context<System>);
  await db.execute(sql`vacuum analyze ${activity_events}, ${tasks}`);
}

/** Returns the poll of a hub for one organization, without news and with the last comments as news. */
async function poll(db: Db) {
  const found = await db.execute(sql`select organization_id, tx::text as tx, seq::text as seq,
    pg_snapshot_xmin(pg_current_snapshot())::text as below from ${activity_events} as event where event_type = 'task.comment' order by event.tx desc, event.seq desc limit ${PAGE + 1}`);
  const rows = rowsOf<{ organization_id: string; tx: string; seq: string; below: string }>(found);
  const [last] = rows;
  const active = { organization_id: last!.organization_id, all_boards_read: true, all_boards_write: true };
  const ctx = { db, actor: { type: "system" } } as Context<System>;
  const [source] = await followFeed(ctx, [{ type: "user", active } as Member]);
  if (!source || source instanceof Error) throw new Error("There is nothing to follow");
  const window = ({ tx, seq, below }: (typeof rows)[number]): ReadWindow => ({
    after: { tx: BigInt(tx), seq: BigInt(seq) },
    below: BigInt(below),
    since: null,
    limit: 100,
  });
  const time = async (window: ReadWindow, expected: number) => {
    const times: number[] = [];
    for (let n = 0; n < POLLS; n++) {
      const start = performance.now();
      const items = await source.read(ctx, window);
      times.push(performance.now() - start);
      if (items.length !== expected) throw new Error(`${items.length} comments, not ${expected}`);
    }
    return times.toSorted((a, b) => a - b)[Math.floor(POLLS / 2)]!;
  };
  const quiet_ms = await time(window(last!), 0);
  const news_ms = await time(window(rows.at(-1)!), PAGE);
  const { tx, seq } = last!;
  const unindexed_ms = await unindexed(
    db,
    sql`select id from ${activity_events} where event_type = 'task.comment' and (tx, seq) > (${tx}::xid8, ${seq}::bigint) order by tx, seq limit 100`,
  );
  return { quiet_ms, news_ms, unindexed_ms };
}

/** Returns the fastest of a few runs without an index, in milliseconds. */
async function unindexed(db: Db, statement: ReturnType<typeof sql>): Promise<number> {
  const times: number[] = [];
  for (let n = 0; n < 3; n++)
    await db.transaction(async (tx) => {
      for (const kind of ["indexscan", "indexonlyscan", "bitmapscan"])
        await tx.execute(sql.raw(`set local enable_${kind} = off`));
      const start = performance.now();
      await tx.execute(statement);
      times.push(performance.now() - start);
    });
  return Math.min(...times);
}
