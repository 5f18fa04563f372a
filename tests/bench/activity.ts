import { countNewEvents } from "@board/core/activity/count-new-events";
import type { System } from "@board/core/context/actor";
import type { Context } from "@board/core/context/context";
import type { Db } from "@board/core/context/db";
import { activity_events, boards, organization_board_access, organization_members } from "@board/core/schema/all-tables";
import { sql } from "drizzle-orm";
import { CONNECTIONS, type BenchEnvironment } from "./environment.ts";
import { rate, round, type Row } from "./row.ts";

const EVENTS = 100_000;
const BOARDS = 20;
const PAGE = 50;

/** Full pages of the activity list, including the total. */
export async function benchActivity(place: BenchEnvironment): Promise<Row[]> {
  const { db, get, count, compareToFloor, service, authorization, gateway, lead } = place;
  await fillLog(db, { gateway_id: gateway.id, agent_id: lead.id });
  const plain = await measurePlain(db, CONNECTIONS, 100);
  const row = async (reader: string, path: string, headers: Record<string, string>): Promise<Row> => {
    await get(path, headers, 300);
    const figures = await get(path, headers, 2_000);
    const request = () => fetch(service.url + path, { headers });
    return {
      what: `activity, ${PAGE} of ${EVENTS.toLocaleString("en")} events, ${reader}`,
      figure: rate(figures),
      target: "500/s",
      baseline: `sort and count at the database, without HTTP: ${round(plain)}/s`,
      ratio: `${(figures.per_second / plain).toFixed(1)}x`,
      ...(await compareToFloor(figures, request)),
      statements: await count(request),
    };
  };
  const path = `/api/v1/activity?limit=${PAGE}`;
  const all = await row("an owner of all boards", path, { authorization });
  const deep = await row("the same at offset 9,000", `${path}&offset=9000`, { authorization });
  await narrow(db, true);
  const granted = await row(`rights on ${BOARDS} boards`, path, { authorization });
  await narrow(db, false);
  const own = await row("an agent", path, { "x-agent-token": lead.auth_token });
  await emptyLog(db);
  return [all, deep, granted, own];
}

/** Adds boards and a month of events, and counts the events. One in fifty has no board, one in ten is the agent's. */
async function fillLog(db: Db, { gateway_id, agent_id }: { gateway_id: string; agent_id: string }): Promise<void> {
  await db.execute(sql`insert into ${boards} (organization_id, gateway_id, name, slug, description)
    select organization_id, id, 'Activity ' || n, 'activity-' || n, 'Bench' from gateways, generate_series(1, ${BOARDS}::int) as n
    where id = ${gateway_id}`);
  await db.execute(sql`
    with board as (select array_agg(id) as ids, min(organization_id::text)::uuid as organization_id from ${boards} where slug like 'activity-%')
    insert into ${activity_events} (organization_id, board_id, agent_id, event_type, message, created_at)
    select organization_id, case when n % 50 > 0 then ids[1 + n % ${BOARDS}::int] end, case when n % 10 = 0 then ${agent_id}::uuid end,
      'task.updated', 'Task updated: number ' || n, now() - n * interval '26 seconds'
    from board, generate_series(1, ${EVENTS}::int) as n`);
  await countNewEvents({ db, actor: { type: "system" } } as Context<System>);
  await db.execute(sql`vacuum analyze ${activity_events}`);
}

async function emptyLog(db: Db): Promise<void> {
  await db.delete(boards).where(sql`slug like 'activity-%'`);
  await db.delete(activity_events);
}

/** Replaces the members' rights to all boards by rights to each filled board, or restores them. */
async function narrow(db: Db, granted: boolean): Promise<void> {
  await db.update(organization_members).set({ all_boards_read: !granted, all_boards_write: !granted });
  await db.delete(organization_board_access);
  if (granted)
    await db.execute(sql`insert into ${organization_board_access} (organization_member_id, board_id, can_read, can_write)
      select member.id, board.id, true, false from ${organization_members} as member, ${boards} as board where board.slug like 'activity-%'`);
}

/** Returns pages per second of the naive way, without HTTP and sign-in: sort the events of all boards and count them. */
async function measurePlain(db: Db, connections: number, pages: number): Promise<number> {
  const seen = sql`from ${activity_events} where board_id in (select id from ${boards}) or board_id is null`;
  let left = pages;
  const start = performance.now();
  await Promise.all(
    Array.from({ length: connections }, async () => {
      while (left-- > 0) {
        await db.execute(sql`select * ${seen} order by created_at desc, id desc limit ${PAGE}`);
        await db.execute(sql`select count(*) ${seen}`);
      }
    }),
  );
  return pages / ((performance.now() - start) / 1000);
}
