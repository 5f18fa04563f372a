import { sql } from "drizzle-orm";
import type { Tenant, World } from "../support/world.ts";

/** The ids that paths of the API name. */
export type PathIds = Record<string, string>;

const ROWS = 210;

/**
 * Fills an organization with rows whose texts repeat one character and are as long as the API allows, with more rows than a page
 * has. Rows are written directly to the database, because sending them as requests would take hours.
 */
export async function fillOrganization(world: World, home: Tenant, code_point: number): Promise<PathIds> {
  const { organization_id, gateway_id, board_id } = home;
  const text = (chars: number) => `repeat(chr(${code_point}), ${chars})`;
  const long = text(100_000);
  const texts = `array_fill(${text(200)}, array[50])`;
  const object = (key: string) => `jsonb_build_object('${key}', repeat('x', 65000))`;
  const rows = (count = ROWS) => `from generate_series(1, ${count}) as n`;
  const run = (statement: string) => world.db.execute(sql.raw(statement));
  const idOf = async (table: string, condition = "true") => {
    const found = (await run(`select id from ${table} where ${condition} limit 1`)) as { rows: { id: string }[] };
    return found.rows[0]!.id;
  };

  await run(`insert into board_groups (organization_id, name, slug, description)
    select '${organization_id}', ${text(200)}, 'group-' || n, ${long} ${rows()}`);
  const group_id = await idOf("board_groups");
  await run(`insert into boards (organization_id, gateway_id, board_group_id, name, slug, description, objective, success_metrics)
    select '${organization_id}', '${gateway_id}', '${group_id}', ${text(200)}, 'board-' || n, ${long}, ${long}, ${object("k")}
    ${rows()}`);
  await run(`update boards set board_group_id = '${group_id}', description = ${long}, objective = ${long},
    success_metrics = ${object("k")} where id = '${board_id}'`);
  await run(`insert into agents (gateway_id, board_id, name, identity_template, soul_template, identity_profile,
      heartbeat_config, last_provision_error)
    select '${gateway_id}', '${board_id}', 'Agent ' || n, ${long}, ${long}, ${object("role")}, ${object("k")}, ${text(1_000)}
    ${rows()}`);
  await run(`update agents set identity_template = ${long}, soul_template = ${long}, identity_profile = ${object("role")}
    where board_id = '${board_id}'`);

  // Everything that a task can have, in amounts that the embedded database can still hold.
  await run(`insert into tags (organization_id, name, slug, color, description)
    select '${organization_id}', ${text(200)}, 'tag-' || n, '000000', ${long} ${rows()}`);
  await run(`insert into tags (organization_id, name, slug, color)
    select '${organization_id}', ${text(200)}, 'short-' || n, '000000' ${rows(20_000)}`);
  await run(`insert into task_custom_field_definitions (organization_id, field_key, label, field_type, ui_visibility,
      description, default_value)
    select '${organization_id}', 'field_' || n, ${text(200)}, 'text', 'always', ${long}, to_jsonb(${long}) ${rows()}`);
  await run(`insert into board_task_custom_fields (board_id, definition_id)
    select '${board_id}', id from task_custom_field_definitions where field_key in ('field_1', 'field_2')`);
  await run(`insert into tasks (board_id, title, description, priority, status)
    select '${board_id}', ${text(500)}, ${long}, ${text(50)}, 'in_progress' ${rows()}`);
  await run(`insert into tasks (board_id, title, priority)
    select board.id, ${text(500)}, ${text(50)} from boards as board, generate_series(1, 40) where slug like 'board-%'`);
  await run(`insert into tag_assignments (task_id, tag_id, position)
    select task.id, tag.id, 1 from tasks as task, (select id from tags limit 50) as tag where task.description is not null`);
  await run(`insert into task_custom_field_values (task_id, definition_id, value)
    select task.id, bound.definition_id, to_jsonb(${long}) from tasks as task
    join board_task_custom_fields as bound on bound.board_id = task.board_id`);
  await run(`insert into task_dependencies (board_id, task_id, depends_on_task_id, position)
    select '${board_id}', task.id, other.id, 1 from tasks as task,
      (select id from tasks where board_id = '${board_id}' limit 50) as other
    where task.board_id = '${board_id}' and task.id <> other.id`);
  const task_id = await idOf("tasks", `board_id = '${board_id}'`);
  await run(`insert into activity_events (organization_id, board_id, task_id, agent_id, event_type, message, tags)
    select '${organization_id}', '${board_id}', '${task_id}', '${home.worker.id}', 'task.comment', ${long}, ${texts} ${rows()}`);
  await run(`insert into board_memory (board_id, memory_key, value, content, tags, source, is_chat)
    select '${board_id}', ${text(200)}, ${object("k")}, ${long}, ${texts}, ${text(200)}, true ${rows()}`);
  await run(`insert into board_group_memory (board_group_id, content, tags, source)
    select '${group_id}', ${long}, ${texts}, ${text(200)} ${rows()}`);
  await run(`insert into approvals (board_id, action_type, payload, rubric_scores)
    select '${board_id}', ${text(200)}, ${object("k")} || jsonb_build_object('reason', ${long}),
      (select jsonb_object_agg('score ' || score, score) from generate_series(1, 3000) as score) ${rows()}`);
  await run(`insert into approval_task_links (approval_id, task_id, position, pending)
    select approval.id, task.id, 1, false from approvals as approval, (select id from tasks limit 50) as task`);

  await run(`insert into runs (board_id, task_id, agent_id, agent_name, fence, status, started_at, ended_at, ended_reason, links)
    select '${board_id}', '${task_id}', '${home.worker.id}', ${text(200)}, n, 'stopped', now(), now(), ${text(500)},
      (select jsonb_agg(jsonb_build_object('kind', 'url', 'url', 'https://' || ${text(1_900)}, 'title', ${text(200)}))
        from generate_series(1, 20)) ${rows()}`);
  await run(`insert into board_webhooks (board_id, description) select '${board_id}', ${text(10_000)} ${rows()}`);
  const webhook_id = await idOf("board_webhooks");
  await run(`insert into board_webhook_payloads (board_id, webhook_id, body, body_kind, headers, source_ip, received_at)
    select '${board_id}', '${webhook_id}', convert_to(${text(2_000_000)}, 'UTF8'), 'text',
      jsonb_build_object('x-header', repeat('h', 16000)), '127.0.0.1', now() ${rows(60)}`);
  await run(`insert into board_onboarding_sessions (board_id, session_key, messages, draft_goal)
    select '${board_id}', 'key', jsonb_agg(jsonb_build_object('role', 'user', 'content', ${long},
      'timestamp', '2026-11-20T10:24:09.799Z')), '{}' ${rows(60)}`);

  await run(`insert into subscriptions (organization_id, board_id, url, description, active, event_types, format, secret_sealed)
    select '${organization_id}', '${board_id}', 'https://a.example/' || repeat('x', 1980), ${text(1_000)}, false,
      array_fill(repeat('x', 50), array[20]), 'standard', 'x' ${rows()}`);
  const subscription_id = await idOf("subscriptions");
  await run(`insert into subscription_deliveries (created_at, subscription_id, event_id, event_type, occurred_at, detail, tx, seq,
      status, last_error, request_headers, response_status, response_body, response_ms)
    select now(), '${subscription_id}', gen_random_uuid(), 'task.created', now(), '{}', pg_current_xact_id(), n,
      'failed', ${text(500)}, jsonb_build_object('webhook-id', repeat('h', 1000)), 500, ${text(1_000)}, 15000 ${rows()}`);

  await run(`with budget as (
      insert into budgets (organization_id, scope, board_id, period, timezone, limit_cost_usd, limit_total_tokens, reserve_cost_usd,
        warn_at, on_limit)
      select '${organization_id}', 'board', '${board_id}', 'month', 'America/Argentina/ComodRivadavia',
        999999999.999999999999, 1000000000000, 999999999.999999999999, 0.8, 'stop' ${rows()} returning id)
    insert into budget_spending (budget_id, cost_usd, total_tokens) select id, 999999999.999999999999, 1000000000000 from budget`);

  await run(`insert into users (auth_subject, email, name, preferred_name)
    select 'subject ' || n, n || ${text(300)}, ${text(200)}, ${text(200)} ${rows()}`);
  await run(`insert into organization_members (organization_id, user_id, role)
    select '${organization_id}', id, 'member' from users where auth_subject like 'subject %'`);
  await run(`with service as (insert into users (auth_issuer, auth_subject, name, service_organization_id)
      select 'key', 'key ' || n, ${text(200)}, '${organization_id}' ${rows()} returning id)
    insert into api_keys (id, organization_id, owner_member_id, access, prefix, board_ids)
    select service.id, '${organization_id}', (select id from organization_members where organization_id = '${organization_id}' and role = 'owner'),
      'write', 'bk_123456', (select array_agg(gen_random_uuid()) from generate_series(1, 200)) from service`);
  await run(`insert into organization_board_access (organization_member_id, board_id, can_read, can_write)
    select member.id, board.id, true, true from organization_members as member, boards as board
    where member.role = 'member' and board.slug like 'board-%'`);
  await run(`with created as (insert into organizations (name) select ${text(200)} ${rows(20_000)} returning id)
    insert into organization_members (organization_id, user_id, role)
    select created.id, member.user_id, 'owner' from created, organization_members as member
    where member.organization_id = '${organization_id}' and member.role = 'owner'`);
  await run(`insert into gateways (organization_id, name, url, workspace_root, last_error)
    select '${organization_id}', ${text(200)}, 'ws://127.0.0.1:9/' || ${text(1_900)}, ${text(2_000)}, ${text(1_000)} ${rows()}`);
  await run(`insert into sync_runs (gateway_id, cause, options)
    values ('${gateway_id}', 'request', '{"include_main": true, "reset_sessions": true}')`);
  await run(`insert into sync_run_agents (run_id, agent_name, is_main, position, status, error)
    select run.id, ${text(200)}, false, n, 'error', ${text(500)} from sync_runs as run, generate_series(1, 5000) as n`);
  await run(`insert into skill_packs (organization_id, name, description, source_url, metadata)
    select '${organization_id}', ${text(200)}, ${long}, 'https://github.com/a/' || n, ${object("k")} ${rows()}`);
  await run(`insert into marketplace_skills (organization_id, name, description, source_label, source_url, metadata)
    select '${organization_id}', ${text(200)}, case when n <= ${ROWS} then ${long} end, ${text(2_000)},
      'https://github.com/a/' || n || ${text(1_900)}, '{}' ${rows(5_000)}`);
  await run(`insert into skill_pack_syncs (pack_id, warnings)
    select id, (select jsonb_agg(${text(300)}) from generate_series(1, 50)) from skill_packs`);
  const pack_id = await idOf("skill_packs", `exists (select 1 from skill_pack_syncs where pack_id = skill_packs.id)`);
  return {
    board_id,
    group_id,
    gateway_id,
    task_id,
    webhook_id,
    pack_id,
    agent_id: home.worker.id,
    member_id: await idOf("organization_members", "role = 'member'"),
    tag_id: await idOf("tags", "description is not null"),
    subscription_id,
    delivery_id: await idOf("subscription_deliveries"),
    approval_id: await idOf("approvals"),
    key_id: await idOf("api_keys"),
    budget_id: await idOf("budgets"),
    payload_id: await idOf("board_webhook_payloads"),
    task_run_id: await idOf("runs"),
    sync_run_id: await idOf("sync_runs"),
    pack_run_id: await idOf("skill_pack_syncs", `pack_id = '${pack_id}'`),
    handle: "",
    slug: "",
  };
}
