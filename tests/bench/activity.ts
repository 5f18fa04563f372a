import { countNewEvents } from "@board/core/activity/sweep";
import type { System } from "@board/core/actor";
import type { Context, Db } from "@board/core/context";
import { activity_events, boards, organization_board_access, organization_members } from "@board/core/db/schema";
import { sql } from "drizzle-orm";

export const EVENTS = 100_000;
const BOARDS = 20;
const PAGE = 50;

/** Adds boards with events of a month, one in fifty on no board and one in ten of the agent, and has them counted. */
export async function fillLog(db: Db, { gateway_id, agent_id }: { gateway_id: string; agent_id: string }): Promise<void> {
  await db.execute(sql`insert into ${boards} (organization_id, gateway_id, name, slug, description)
    select organization_id, id, 'Activity ' || n, 'activity-' || n, 'Bench' from gateways, generate_series(1, ${BOARDS}::int) as n
    where id = ${gateway_id}`);
  await db.execute(sql`
    with board as (select array_agg(id) as ids, min(organization_id::text)::uuid as organization_id from ${boards} where slug like 'activity-%')
    insert into ${activity_events} (organization_id, board_id, agent_id, event_type, message, created_at)
    select organization_id, case when n % 50 > 0 then ids[1 + n % ${BOARDS}::int] end, case when n % 10 = 0 then ${agent_id}::uuid end,
      'task.updated', 'Task updated: number ' || n, now() - n * interval '26 seconds'
    from board, generate_series(1, ${EVENTS}::int) as n`);
  await countNewEvents({ db } as Context<System>);
  await db.execute(sql`vacuum analyze ${activity_events}`);
}

export async function emptyLog(db: Db): Promise<void> {
  await db.delete(boards).where(sql`slug like 'activity-%'`);
  await db.delete(activity_events);
}

/** Takes the rights to all boards from everybody and gives them to each of the filled ones instead, or gives them back. */
export async function narrow(db: Db, granted: boolean): Promise<void> {
  await db.update(organization_members).set({ all_boards_read: !granted, all_boards_write: !granted });
  await db.delete(organization_board_access);
  if (granted)
    await db.execute(sql`insert into ${organization_board_access} (organization_member_id, board_id, can_read, can_write)
      select member.id, board.id, true, false from ${organization_members} as member, ${boards} as board where board.slug like 'activity-%'`);
}

/** Pages a second of the plain way, without HTTP and signing in: sort the events of all boards, and count them. */
export async function measurePlain(db: Db, connections: number, pages: number): Promise<number> {
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
