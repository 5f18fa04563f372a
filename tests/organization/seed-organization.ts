import * as schema from "@board/core/schema/all-tables";
import { eq } from "drizzle-orm";
import { addJob } from "../support/jobs.ts";
import { seedSubscription } from "../support/seed-subscription.ts";
import { addTask } from "../support/task.ts";
import { createWebhook, postPayload } from "../support/webhook.ts";
import type { Tenant, World } from "../support/world.ts";

/** Inserts at least one row into every table that belongs to organizations. */
export async function seedFullOrganization(world: World, tenant: Tenant): Promise<void> {
  const { organization_id, board_id, gateway_id, worker } = tenant;
  const { token } = tenant.owner;
  const post = async (path: string, body: object) => {
    const created = await world.call("POST", path, { token, body });
    if (created.status !== 200) throw new Error(`${path}: ${created.status} ${created.text}`);
    return created.body;
  };
  const { db } = world;
  const [owner] = await db.select().from(schema.users).where(eq(schema.users.auth_subject, tenant.owner.subject));
  await postPayload(world, await createWebhook(world, tenant, { agent_id: worker.id }), "{}", { "idempotency-key": "filled" });
  await db.insert(schema.webhook_body_turns).values({ organization_id, turn_at: new Date(), next_at: new Date() });
  await seedSubscription(world, { organization_id, board_id });
  await addJob(world, tenant, { gateway_id, lane: "some lane" });
  const tag = await post("/api/v1/tags", { name: "Tag" });
  await post("/organizations/me/invites", { invited_email: "guest@example.com", board_access: [{ board_id }] });

  const [group] = await db.insert(schema.board_groups).values({ organization_id, name: "Group", slug: "group" }).returning();
  await db.update(schema.boards).set({ board_group_id: group!.id }).where(eq(schema.boards.id, board_id));
  await db.insert(schema.board_group_memory).values({ board_group_id: group!.id, content: "Remember" });
  await db.insert(schema.board_memory).values({ board_id, content: "Remember" });
  await db.insert(schema.inbox_messages).values({ organization_id, agent_id: worker.id, kind: "board.chat", text: "Hello" });
  await db.insert(schema.inbox_acknowledgements).values({ agent_id: worker.id, acknowledged_at: new Date() });
  await db.insert(schema.board_onboarding_sessions).values({ board_id, session_key: "agent:main:main" });

  const own = { board_id, assigned_agent_id: worker.id, created_by_user_id: owner!.id };
  const created = await db
    .insert(schema.tasks)
    .values([
      { ...own, title: "First" },
      { ...own, title: "Second" },
    ])
    .returning();
  const [task_id, depends_on_task_id] = [created[0]!.id, created[1]!.id];
  await db.insert(schema.task_dependencies).values({ board_id, task_id, depends_on_task_id, position: 0 });
  await db.insert(schema.tag_assignments).values({ task_id, tag_id: tag.id, position: 0 });
  const field = {
    organization_id,
    field_key: "cost",
    label: "Cost",
    field_type: "integer" as const,
    ui_visibility: "always" as const,
  };
  const [definition] = await db.insert(schema.task_custom_field_definitions).values(field).returning();
  await db.insert(schema.board_task_custom_fields).values({ board_id, definition_id: definition!.id });
  await db.insert(schema.task_custom_field_values).values({ task_id, definition_id: definition!.id, value: 5 });
  const decided = { agent_id: worker.id, task_id, resolved_by_user_id: owner!.id };
  const [approval] = await db
    .insert(schema.approvals)
    .values({ ...decided, board_id, action_type: "deploy" })
    .returning();
  await db.insert(schema.approval_task_links).values({ approval_id: approval!.id, task_id, position: 0, pending: true });
  const file = { organization_id, board_id, task_id, name: "log.txt", content_type: "text/plain", size: 1, sha256: "0" };
  const [artifact] = await db
    .insert(schema.artifacts)
    .values({ ...file, status: "uploading" })
    .returning();
  await db.insert(schema.artifact_usage).values({ organization_id, bytes: 1 });
  await db
    .insert(schema.artifact_reviews)
    .values({ artifact_id: artifact!.id, organization_id, user_id: owner!.id, paths: ["a.ts"], updated_at: new Date() });
  const views = [{ name: "Mine", query: "agent=nobody" }];
  await db.insert(schema.saved_views).values({ board_id, organization_id, user_id: owner!.id, views, updated_at: new Date() });
  await db.insert(schema.task_transitions).values({ board_id, task_id, to_status: "inbox", at: new Date(), user_id: owner!.id });
  await seedRun(world, tenant);
  const [run] = await db
    .insert(schema.sync_runs)
    .values({ gateway_id, cause: "request", status: "done", options: {} })
    .returning();
  const synced = { run_id: run!.id, agent_id: worker.id, agent_name: "Worker", is_main: false, position: 0 };
  await db.insert(schema.sync_run_agents).values({ ...synced, status: "success" });
  const about = { organization_id, board_id, task_id, agent_id: worker.id, user_id: owner!.id };
  await db.insert(schema.activity_events).values([
    { ...about, event_type: "task.comment", message: "Done" },
    { organization_id, event_type: "gateway.connected" },
  ]);
  await db.insert(schema.activity_counts).values({ board_id, hour: new Date(), events: 1, failed: 0, comments: 1 });
  await db.insert(schema.activity_day_counts).values({ board_id, day: new Date(), events: 1, failed: 0 });
  const byStatus = { inbox: 1, in_progress: 0, review: 0, done: 0 };
  await db.insert(schema.task_counts).values({ board_id, ...byStatus });
  const reviewed = { reviewed_in_hour: 0, reviewed_in_day: 0, reviewed_in_week: 0, reviewed_in_month: 0 };
  const moved = { ...byStatus, ...reviewed, completed: 0, cycle_ms: 0n };
  await db.insert(schema.transition_counts).values({ board_id, span: "hour", start: new Date(), ...moved });
  const times = { retry_at: new Date(), changed_at: new Date() };
  await db.insert(schema.gateway_circuits).values({ gateway_id, failures: 1, last_error: "Host is down", ...times });
  await db.insert(schema.gateway_connectivity).values({ gateway_id, state: "connected" });
  const source_url = "https://github.com/acme/skills";
  const [skill] = await db.insert(schema.marketplace_skills).values({ organization_id, name: "Skill", source_url }).returning();
  await db.insert(schema.gateway_installed_skills).values({ gateway_id, skill_id: skill!.id });
  const [pack] = await db.insert(schema.skill_packs).values({ organization_id, name: "Pack", source_url }).returning();
  await db.insert(schema.skill_pack_syncs).values({ pack_id: pack!.id });

  await seedNotifications(world, tenant, owner!.id);
  await post("/api/v1/keys", { name: "Program", access: "read" });

  const member_id = await world.join(await world.person("colleague"), organization_id, "member");
  await db
    .insert(schema.organization_board_access)
    .values({ organization_member_id: member_id, board_id, can_read: true, can_write: true });
}

/** Stores a run with a step and a token, and usage under a budget. */
async function seedRun(world: World, { organization_id, board_id, worker }: Tenant): Promise<void> {
  const { db } = world;
  const { id: task_id, run_id } = await addTask(world, { board_id }, { status: "in_progress", assigned_agent_id: worker.id });
  await db.insert(schema.run_steps).values({ run_id: run_id!, first: 0, count: 1, body: Buffer.from("x"), body_bytes: 1 });
  await db.insert(schema.host_usage).values({ agent_id: worker.id, since: "2026-01-01" }).onConflictDoNothing();
  await db.insert(schema.run_tokens).values({ run_id: run_id!, token_lookup: run_id! });
  const rules = { scope: "organization", period: "total", timezone: "UTC", warn_at: 1, on_limit: "warn" } as const;
  const [budget] = await db
    .insert(schema.budgets)
    .values({ organization_id, ...rules, limit_runs: 1000 })
    .returning();
  await db.insert(schema.budget_spending).values({ budget_id: budget!.id });
  const entry = { key: "filled", task_id, model: "small", input_tokens: 1 };
  const reported = await world.call("POST", "/api/v1/agent/usage", { agent: worker.token, body: { entries: [entry] } });
  if (reported.status !== 200) throw new Error(reported.text);
}

/** Stores a notification that waits to be sent to a person by e-mail, and makes the person follow the board. */
async function seedNotifications({ db }: World, { organization_id, board_id }: Tenant, user_id: string): Promise<void> {
  await db.insert(schema.follows).values({ organization_id, board_id, user_id, following: true }).onConflictDoNothing();
  const sealed = { bot_token_sealed: Buffer.alloc(40), signing_secret_sealed: Buffer.alloc(40) };
  await db.insert(schema.slack_apps).values({ organization_id, team_id: "T1", team_name: "Acme", bot_user_id: "U1", ...sealed });
  const [channel] = await db.insert(schema.channels).values({ user_id, type: "email" }).onConflictDoNothing().returning();
  const about = { user_id, organization_id, board_id, type: "mention", subject_id: board_id, actor_type: "system" } as const;
  const [notification] = await db
    .insert(schema.user_notifications)
    .values({ ...about, key: "filled" })
    .returning();
  const sent = { organization_id, channel_id: channel!.id, notification_id: notification!.id, type: "email" } as const;
  await db.insert(schema.channel_deliveries).values({ ...sent, is_digest: true, due_at: new Date(Date.now() + 86_400_000) });
  const [approval] = await db.insert(schema.approvals).values({ board_id, action_type: "Deploy" }).returning();
  const { type: _, ...shown } = sent;
  await db.insert(schema.slack_decisions).values({ ...shown, approval_id: approval!.id, conversation: "D1", ts: "1.1" });
}
