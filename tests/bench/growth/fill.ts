import type { Client } from "pg";
import { fillBulk } from "./bulk.ts";
import type { Size } from "./sizes.ts";

/** Returns SQL that computes an id from a number, so that inserts can refer to other rows without a join. */
const id = (kind: string, number: string) => `md5('${kind}' || (${number}))::uuid`;
export const LARGE_ORGANIZATION = `${id("organization", "1")}`;
export const LARGE_BOARD = `${id("board", "1")}`;

const DAYS = 80;
/** The number of consecutive events of one agent within one hour. Every tenth such series belongs to the large organization. */
const BURST = 10;

/**
 * Adds organizations with a board, and agents, tasks, events and done jobs on these boards. The first organization is large: a
 * tenth of all events are on its only board, which has one task for every ten of these events.
 */
export async function growTo(client: Client, from: Size, to: Size): Promise<void> {
  const agents = to.agents - from.agents;
  const events = to.events - from.events;
  const owner = `(1 + (k - 1) % ${to.organizations})`;
  await fillBulk(
    client,
    ["organizations", "users", "organization_members", "gateways", "boards", "board_webhooks"],
    [
      `insert into organizations (id, name) select ${id("organization", "n")}, 'Organization ' || n from N`,
      `insert into users (id, auth_subject, active_organization_id)
      select ${id("user", "n")}, 'growth-' || n, ${id("organization", "n")} from N`,
      `insert into organization_members (organization_id, user_id, role, all_boards_read, all_boards_write)
      select ${id("organization", "n")}, ${id("user", "n")}, 'owner', true, true from N`,
      `insert into gateways (id, organization_id, name, kind, url, workspace_root)
      select ${id("gateway", "n")}, ${id("organization", "n")}, 'Growth', 'pull', '', '' from N`,
      `insert into boards (id, organization_id, gateway_id, name, slug, description)
      select ${id("board", "n")}, ${id("organization", "n")}, ${id("gateway", "n")}, 'Board ' || n, 'growth', 'Growth' from N`,
      `insert into board_webhooks (board_id, description) select ${id("board", "n")}, 'Growth' from N`,
    ].map((text) => text.replace("from N", `from generate_series(${from.organizations + 1}, ${to.organizations}) as n`)),
  );
  await fillBulk(
    client,
    ["agents", "tasks"],
    [
      `insert into agents (id, gateway_id, board_id, name, status, agent_token_hash, agent_token_lookup, last_seen_at)
      select ${id("agent", "k")}, ${id("gateway", owner)}, ${id("board", owner)}, 'agent ' || k, 'offline', '',
        md5('token' || k), now() - k % 1000 * interval '1 minute' from generate_series(${from.agents + 1}, ${to.agents}) as k`,
      `insert into tasks (id, board_id, title, status, assigned_agent_id)
      select ${id("task", "k")}, ${id("board", owner)}, 'Task', (array['inbox', 'done', 'done', 'review'])[1 + k % 4], ${id("agent", "k")}
      from generate_series(${from.agents + 1}, ${to.agents}) as k`,
      `insert into tasks (id, board_id, title, status)
      select ${id("large task", "k")}, ${LARGE_BOARD}, 'Task', 'done' from generate_series(${from.events / 100 + 1}, ${to.events / 100}) as k`,
    ],
  );
  const before = await client.query<{ tx: string }>("select pg_current_xact_id()::text as tx");
  // A hundredth of the events have no board; a quarter are comments, and half of the rest are by people.
  await fillBulk(
    client,
    ["activity_events"],
    [
      `insert into activity_events (organization_id, board_id, task_id, agent_id, event_type, message, created_at)
      select ${id("organization", "organization")}, case when n % 100 <> 99 then ${id("board", "organization")} end,
        case when n % 100 = 99 then null when is_large then ${id("large task", `${from.events / 100 + 1} + n / 100`)} else ${id("task", "k")} end,
        case when n / 2 % 2 = 0 then ${id("agent", "case when is_large then 1 + k % 10 * " + to.organizations + " else k end")} end,
        case when n % 100 <> 99 and n % 4 = 0 then 'task.comment' else 'task.updated' end,
        'Task updated: number ' || n, now() - interval '1 hour' - (1 - n::float8 / ${events}) * interval '${DAYS} days'
      from (
        select n, k, n / ${BURST} % 10 = 0 as is_large, case when n / ${BURST} % 10 = 0 then 1 else ${owner} end as organization
        from (select n, ${from.agents + 1} + n / ${BURST} % ${agents} as k from generate_series(0, ${events - 1}) as n) as numbered
        ) as event`,
    ],
  );
  const tx = before.rows[0]!.tx;
  await client.query(`
    insert into activity_counts as counts (board_id, hour, events, failed, comments)
    select board_id, coalesce(date_trunc('hour', created_at, 'UTC'), '-infinity'), count(*), 0, count(*) filter (where event_type = 'task.comment')
    from activity_events where tx > '${tx}' and board_id is not null
    group by grouping sets ((board_id, date_trunc('hour', created_at, 'UTC')), (board_id))
    on conflict (board_id, hour) do update set events = counts.events + excluded.events, comments = counts.comments + excluded.comments`);
  await client.query(`
    insert into activity_counted (tx, seq) select tx, seq from activity_events order by tx desc, seq desc limit 1
    on conflict ("only") do update set tx = excluded.tx, seq = excluded.seq`);
  await client.query("vacuum analyze activity_counts");
  await fillBulk(
    client,
    ["jobs"],
    [
      `insert into jobs (kind, lane, organization_id, gateway_id, payload, run_at, sent_at, attempts, max_attempts, status, finished_at, created_at)
      select 'webhook.notify', 'agent/' || n % ${to.agents}, ${id("organization", "organization")}, ${id("gateway", "organization")},
        jsonb_build_object('payload_id', ${id("payload", "n")}), at, at, 1, 10, 'done', at, at
      from (select n, case when n % 10 = 0 then 1 else 1 + n % ${to.organizations} end as organization,
          now() - interval '1 hour' - (1 - (n - ${from.done_jobs})::float8 / ${to.done_jobs - from.done_jobs}) * interval '6 days' as at
        from generate_series(${from.done_jobs + 1}, ${to.done_jobs}) as n) as job`,
    ],
  );
}
