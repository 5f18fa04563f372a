import { countNewEvents } from "@board/core/activity/counted-events";
import type { System } from "@board/core/context/actor";
import { hashToken, mintToken, tokenLookup } from "@board/core/agent/token";
import type { Context } from "@board/core/context/context";
import { toKey } from "@board/core/values/seal";
import type { Client } from "pg";
import type { BenchEnvironment } from "../environment.ts";
import { KEYS } from "../service.ts";
import { LARGE_BOARD, LARGE_ORGANIZATION } from "./fill.ts";

const BOARDS = 20;
const TASKS = 200;
const EVENTS = 5_000;

/** Who sends the benchmark's requests: ids and tokens of an organization that does not grow, and of the large organization. */
export interface Callers {
  organization_id: string;
  large_organization_id: string;
  task_ids: string[];
  large_agent_token: string;
  member: { user_id: string; member_id: string };
}

/** Gives the organization of the benchmark its content, and gives the person and an agent access to the large organization. */
export async function fillHome(client: Client, { db, gateway, board, lead }: BenchEnvironment): Promise<Callers> {
  const one = async <Row>(text: string, values: unknown[] = []) => (await client.query(text, values)).rows[0] as Row;
  const { organization_id } = await one<{ organization_id: string }>("select organization_id from boards where id = $1", [
    board.id,
  ]);
  await client.query(
    `insert into boards (organization_id, gateway_id, name, slug, description)
     select $1::uuid, $2::uuid, 'Home ' || n, 'home-' || n, 'Home' from generate_series(2, ${BOARDS}) as n`,
    [organization_id, gateway.id],
  );
  await client.query(
    `insert into tasks (board_id, title, created_at) select $1, 'Task ' || n, now() - n * interval '1 minute' from generate_series(1, ${TASKS}) as n`,
    [board.id],
  );
  await client.query(
    `with board as (select array_agg(id) as ids from boards where organization_id = $1), task as (select array_agg(id) as ids from tasks where board_id = $2)
     insert into activity_events (organization_id, board_id, task_id, agent_id, event_type, message, created_at)
     select $1, case when n % 4 = 0 then $2::uuid else board.ids[1 + n % ${BOARDS}] end, case when n % 4 = 0 then task.ids[1 + n % ${TASKS}] end,
       case when n % 10 = 0 then $3::uuid end, case when n % 4 = 0 then 'task.comment' else 'task.updated' end, 'Event ' || n, now() - n * interval '8 minutes'
     from board, task, generate_series(1, ${EVENTS}) as n`,
    [organization_id, board.id, lead.id],
  );
  await countNewEvents({ db, actor: { type: "system" } } as Context<System>);
  for (const table of ["boards", "tasks", "activity_events", "activity_counts"]) await client.query(`vacuum analyze ${table}`);
  const large = await one<{ id: string; agent: string }>(
    `select ${LARGE_ORGANIZATION} as id, (select id from agents where board_id = ${LARGE_BOARD} order by created_at, name limit 1) as agent`,
  );
  const { user_id, member_id } = await one<{ user_id: string; member_id: string }>(
    "select user_id, id as member_id from organization_members where organization_id = $1",
    [organization_id],
  );
  await client.query(
    "insert into organization_members (organization_id, user_id, role, all_boards_read, all_boards_write) values ($1, $2, 'owner', true, true) on conflict do nothing",
    [large.id, user_id],
  );
  const large_agent_token = mintToken();
  await client.query("update agents set agent_token_hash = $2, agent_token_lookup = $3 where id = $1", [
    large.agent,
    await hashToken(large_agent_token),
    tokenLookup(toKey(KEYS.TOKEN_PEPPER), large_agent_token),
  ]);
  const found = await client.query<{ id: string }>("select id from tasks where board_id = $1 order by created_at", [board.id]);
  return {
    organization_id,
    large_organization_id: large.id,
    large_agent_token,
    task_ids: found.rows.map(({ id }) => id),
    member: { user_id, member_id },
  };
}
