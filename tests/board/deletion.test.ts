import {
  activity_counts,
  activity_day_counts,
  activity_events,
  agents,
  approval_task_links,
  approvals,
  artifact_reviews,
  saved_views,
  artifacts,
  board_group_memory,
  board_memory,
  board_onboarding_sessions,
  board_task_custom_fields,
  boards,
  budget_spending,
  budgets,
  channel_deliveries,
  channels,
  host_usage,
  jobs,
  organization_board_access,
  organization_invite_board_access,
  organization_invites,
  run_steps,
  slack_decisions,
  run_tokens,
  tag_assignments,
  tags,
  task_counts,
  task_custom_field_definitions,
  task_custom_field_values,
  task_dependencies,
  task_transitions,
  tasks,
  transition_counts,
  user_notifications,
  users,
  inbox_acknowledgements,
  inbox_messages,
} from "@board/core/schema/all-tables";
import { rowsOf } from "@board/core/db/database";
import { eq, sql } from "drizzle-orm";
import { expect, test } from "vitest";
import { listEvents } from "../support/activity.ts";
import { startFakeGateway } from "../support/fake-gateway/server.ts";
import { addBoard } from "../support/board.ts";
import { addGroup } from "../support/group.ts";
import { seedSubscription } from "../support/seed-subscription.ts";
import { addTask } from "../support/task.ts";
import { createWebhook, postPayload } from "../support/webhook.ts";
import { skipProvisioning } from "../support/skip-provisioning.ts";
import { setup, setupWorld } from "../support/fixtures.ts";

const world = await setupWorld();
const host = await setup(startFakeGateway({ token: "test-token-123" }));
const home = await world.tenant("home");
const reader = await world.person("reader");
const reader_member_id = await world.join(reader, home.organization_id, "member", { read: true });

const remove = (board_id: string, credential: object = { token: home.owner.token }) =>
  world.call("DELETE", `/api/v1/boards/${board_id}`, credential);
const cleanups = async () => (await world.db.select().from(jobs)).filter((job) => job.kind === "agent.cleanup");

/** Counts the rows by table, except in the tables that outlive a board, such as jobs, the changes feed and the audit log. */
async function countRows(): Promise<Record<string, number>> {
  const found = await world.db.execute(sql`
    select table_name as name, (xpath('/row/n/text()', query_to_xml(format('select count(*) as n from %I', table_name), false, true, '')))[1]::text::int as total
    from information_schema.tables where table_schema = 'public' and table_name not in ('changes', 'jobs', 'audit_events', 'artifact_orphans', 'webhook_payload_usage') order by table_name`);
  return Object.fromEntries(rowsOf<{ name: string; total: number }>(found).map(({ name, total }) => [name, total]));
}

/** Lists the tables whose rows are deleted with a board, by any chain of foreign keys. */
async function tablesOfBoards(): Promise<string[]> {
  const found = await world.db.execute(sql`
    with recursive below(id) as (
      select 'boards'::regclass::oid
      union
      select conrelid from pg_constraint join below on confrelid = below.id where contype = 'f' and confdeltype = 'c')
    select relname as name from below join pg_class on pg_class.oid = below.id order by relname`);
  return rowsOf<{ name: string }>(found).map(({ name }) => name);
}

/** Creates a board with a row in every table that can have rows of a board. */
async function fillBoard(): Promise<string> {
  const { board_id, agent } = await addBoard(world, home, "Full");
  const insert = world.db.insert.bind(world.db);
  const { organization_id } = home;
  const lead = { name: "Lead", board_id, is_board_lead: true };
  await world.call("POST", "/api/v1/agents", { token: home.owner.token, body: lead });
  const [first, second] = await insert(tasks)
    .values(["First", "Second"].map((title) => ({ board_id, title, assigned_agent_id: agent.id })))
    .returning();
  const task_id = first!.id;
  await insert(task_dependencies).values({ board_id, task_id, depends_on_task_id: second!.id, position: 0 });
  const [tag] = await insert(tags)
    .values({ organization_id, name: "Kept", slug: crypto.randomUUID(), color: "000000" })
    .returning();
  await insert(tag_assignments).values({ task_id, tag_id: tag!.id, position: 0 });
  const field = {
    organization_id,
    field_key: crypto.randomUUID(),
    label: "Kept",
    field_type: "text" as const,
    ui_visibility: "always" as const,
  };
  const [definition] = await insert(task_custom_field_definitions).values(field).returning();
  await insert(board_task_custom_fields).values({ board_id, definition_id: definition!.id });
  await insert(task_custom_field_values).values({ task_id, definition_id: definition!.id, value: 1 });
  const [approval] = await insert(approvals).values({ board_id, agent_id: agent.id, action_type: "Do", task_id }).returning();
  await insert(approval_task_links).values({ approval_id: approval!.id, task_id, position: 0, pending: true });
  await insert(task_transitions).values({ board_id, task_id, to_status: "inbox", at: new Date(), agent_id: agent.id });
  await insert(board_memory).values({ board_id, content: "Remember" });
  await insert(board_onboarding_sessions).values({ board_id, session_key: "agent:any:main" });
  await insert(activity_events).values([
    { organization_id, board_id, task_id, agent_id: agent.id, event_type: "task.comment", message: "A comment" },
    { organization_id, board_id, event_type: "agent.connected" },
  ]);
  await insert(activity_counts).values({ board_id, hour: new Date(), events: 2, failed: 0, comments: 1 });
  await insert(activity_day_counts).values({ board_id, day: new Date(), events: 2, failed: 0 });
  const byStatus = { inbox: 2, in_progress: 0, review: 0, done: 0 };
  await insert(task_counts).values({ board_id, ...byStatus });
  const reviewed = { reviewed_in_hour: 0, reviewed_in_day: 0, reviewed_in_week: 0, reviewed_in_month: 0 };
  const moved = { ...byStatus, ...reviewed, completed: 0, cycle_ms: 0n };
  await insert(transition_counts).values({ board_id, span: "hour", start: new Date(), ...moved });
  await insert(organization_board_access).values({
    organization_member_id: reader_member_id,
    board_id,
    can_read: true,
    can_write: false,
  });
  const invite = {
    organization_id,
    invited_email: `${board_id}@example.com`,
    token_digest: board_id,
    token_sealed: Buffer.from("x"),
    role: "member",
  } as const;
  const [invited] = await insert(organization_invites).values(invite).returning();
  await insert(organization_invite_board_access).values({
    organization_invite_id: invited!.id,
    board_id,
    can_read: true,
    can_write: true,
  });
  await insert(inbox_messages).values({ organization_id, board_id, agent_id: agent.id, kind: "board.chat", text: "Hello" });
  await insert(inbox_acknowledgements).values({ agent_id: agent.id, acknowledged_at: new Date() });
  const webhook = await createWebhook(world, { ...home, board_id }, { agent_id: agent.id });
  await postPayload(world, webhook, "{}", { "idempotency-key": "filled" });
  await seedSubscription(world, { organization_id, board_id });
  const { run_id } = await addTask(world, { board_id }, { status: "in_progress", assigned_agent_id: agent.id });
  await insert(run_steps).values({ run_id: run_id!, first: 0, count: 1, body: Buffer.from("x"), body_bytes: 1 });
  await insert(run_tokens).values({ run_id: run_id!, token_lookup: board_id });
  const limits = { period: "total", timezone: "UTC", warn_at: 1, on_limit: "stop" } as const;
  const [budget] = await insert(budgets)
    .values({ organization_id, scope: "board", board_id, ...limits })
    .returning();
  await insert(budget_spending).values({ budget_id: budget!.id });
  await insert(host_usage).values({ agent_id: agent.id, since: "2026-01-01" }).onConflictDoNothing();
  await addPersonalRows(board_id, task_id);
  return board_id;
}

/** Adds a file with a review of it, and a notification that waits to be sent to the owner. */
async function addPersonalRows(board_id: string, task_id: string): Promise<void> {
  const insert = world.db.insert.bind(world.db);
  const { organization_id } = home;
  const [owner] = await world.db.select().from(users).where(eq(users.auth_subject, home.owner.subject));
  const user_id = owner!.id;
  const file = { organization_id, board_id, task_id, name: "log.txt", content_type: "text/plain", size: 1, sha256: "0" };
  const [artifact] = await insert(artifacts)
    .values({ ...file, status: "uploading" })
    .returning();
  const reviewed = { organization_id, user_id, paths: ["a.ts"], updated_at: new Date() };
  await insert(artifact_reviews).values({ artifact_id: artifact!.id, ...reviewed });
  await insert(saved_views).values({ board_id, organization_id, user_id, views: [], updated_at: new Date() });
  await insert(channels).values({ user_id, type: "email" }).onConflictDoNothing();
  const [channel] = await world.db.select().from(channels).where(eq(channels.user_id, user_id));
  const about = { user_id, organization_id, board_id, type: "mention", subject_id: board_id, actor_type: "system" } as const;
  const [notification] = await insert(user_notifications)
    .values({ ...about, key: board_id })
    .returning();
  const sent = { organization_id, channel_id: channel!.id, notification_id: notification!.id, type: "email" } as const;
  await insert(channel_deliveries).values({ ...sent, is_digest: true, due_at: new Date(Date.now() + 86_400_000) });
  const [approval] = await insert(approvals).values({ board_id, action_type: "Deploy" }).returning();
  const { type: _, ...shown } = sent;
  await insert(slack_decisions).values({ ...shown, approval_id: approval!.id, conversation: "D1", ts: "1.1" });
}

test("deleting a board deletes its rows in every table and no other rows", async () => {
  const neighbour = await fillBoard();
  const before = await countRows();
  const board_id = await fillBoard();
  const filled = await countRows();
  const boardTables = await tablesOfBoards();
  expect(
    boardTables.filter((table) => filled[table]! <= before[table]!),
    "tables that this test must fill",
  ).toEqual([]);
  expect((await remove(board_id)).body).toEqual({ ok: true });
  const after = await countRows();
  const differing = Object.keys(after).filter((table) => after[table] !== (boardTables.includes(table) ? before : filled)[table]);
  expect(differing).toEqual([]);
  expect((await world.call("GET", `/api/v1/boards/${neighbour}`, home.owner)).status).toBe(200);
});

test("agents of a deleted board are refused at once, and deleting it again is not found", async () => {
  const { board_id, agent } = await addBoard(world, home, "Short");
  expect((await world.call("GET", "/api/v1/agent/healthz", { agent: agent.token })).status).toBe(200);
  await remove(board_id);
  expect((await world.call("GET", "/api/v1/agent/healthz", { agent: agent.token })).status).toBe(401);
  const again = await remove(board_id);
  expect([again.status, again.body]).toEqual([404, { detail: "Not Found" }]);
});

test("deleting a board, or moving it into a group, takes as many statements with many agents as with one", async () => {
  const count = async (name: string, more: number): Promise<number[]> => {
    const { board_id } = await addBoard(world, home, name);
    await world.db
      .update(boards)
      .set({ max_agents: 1 + more })
      .where(eq(boards.id, board_id));
    for (let n = 0; n < more; n++) {
      const body = { name: `${name} ${n}`, board_id };
      expect((await world.call("POST", "/api/v1/agents", { token: home.owner.token, body })).status).toBe(200);
    }
    await skipProvisioning(world.db);
    const board_group_id = await addGroup(world, home, name, []);
    const move = { token: home.owner.token, body: { board_group_id } };
    return [
      await world.countStatements(() => world.call("PATCH", `/api/v1/boards/${board_id}`, move)),
      await world.countStatements(() => remove(board_id)),
    ];
  };
  await count("First of all", 0);
  expect(await count("Many agents", 5)).toEqual(await count("One agent", 0));
  // The host does not exist, so these jobs would delay the jobs of other tests.
  await world.db.delete(jobs).where(eq(jobs.organization_id, home.organization_id));
});

test("deleting a board keeps its group and the group's memory", async () => {
  const { board_id } = await addBoard(world, home, "Grouped");
  const board_group_id = await addGroup(world, home, "Group", [board_id]);
  await world.db.insert(board_group_memory).values({ board_group_id, content: "Remember" });
  await remove(board_id);
  expect((await world.call("GET", `/api/v1/board-groups/${board_group_id}`, home.owner)).status).toBe(200);
  expect(await world.db.select().from(board_group_memory)).toHaveLength(1);
});

test("a failed deletion leaves the board unchanged and queues no clean-up of its agents", async () => {
  const { board_id } = await addBoard(world, home, "Whole");
  const waiting = (await cleanups()).length;
  await world.db.execute(
    sql.raw(`create function refuse() returns trigger language plpgsql as 'begin raise exception ''no''; end'`),
  );
  await world.db.execute(sql.raw("create trigger refuse before delete on boards for each row execute function refuse()"));
  expect((await remove(board_id)).status).toBe(500);
  await world.db.execute(sql.raw("drop function refuse() cascade"));
  expect((await cleanups()).length).toBe(waiting);
  expect(await world.db.select().from(agents).where(eq(agents.board_id, board_id))).toHaveLength(1);
  expect((await remove(board_id)).status).toBe(200);
});

test("deleting a board does not wait for the host; jobs remove agents, files and sessions afterwards", async () => {
  const tenant = await world.tenant("cleanup", host.url);
  const names = [tenant.lead, tenant.worker].map(({ session_key }) => session_key.split(":")[1]!);
  const { token } = tenant.owner;
  await world.drain();
  const target = { url: host.url, token: "test-token-123", disable_device_pairing: false, allow_insecure_tls: false };
  const { gateways } = world.context();
  for (const [index, name] of names.entries()) {
    await gateways.request(target, "agents.create", { name, workspace: `/srv/agents/workspace-${name}` });
    await gateways.request(target, "sessions.patch", { key: `agent:${name}:main`, label: `Agent ${index}` });
  }
  host.calls.length = 0;
  await host.stop();
  expect((await world.call("DELETE", `/api/v1/boards/${tenant.board_id}`, { token })).status).toBe(200);
  const waiting = (await cleanups()).filter((job) => job.organization_id === tenant.organization_id);
  expect(waiting.map(({ lane, status }) => [lane, status])).toEqual(
    names.map((name) => [`${tenant.gateway_id}/${name}`, "queued"]),
  );
  await host.start();
  await world.drain();
  world.elapse(20_000);
  await world.drain();
  const roster = JSON.stringify(await gateways.request(target, "agents.list", {}));
  expect(names.filter((name) => roster.includes(name))).toEqual([]);
  expect([...host.host.files.keys()].filter((folder) => names.some((name) => folder.includes(name)))).toEqual([]);
  expect([...host.host.sessions.keys()].filter((key) => names.some((name) => key.includes(name)))).toEqual([]);
});

test("a clean-up that is given up is recorded for the organization, since the board's events are gone", async () => {
  const tenant = await world.tenant("unreachable");
  await world.call("DELETE", `/api/v1/boards/${tenant.board_id}`, { token: tenant.owner.token });
  const ofThis = async () => (await cleanups()).filter((job) => job.organization_id === tenant.organization_id);
  // The waits between attempts are random, and so is the number of rounds.
  for (let round = 0; round < 20 && (await ofThis()).some(({ status }) => status !== "dead"); round++) {
    await world.drain();
    world.elapse(700_000);
  }
  const ofTenant = await ofThis();
  expect(ofTenant.map(({ status }) => status)).toEqual(["dead", "dead"]);
  // One of the two jobs tries the host ten times, while the other one waits for the result.
  expect(ofTenant.map(({ attempts }) => attempts)).toContain(10);
  const events = await listEvents(world, { organization_id: tenant.organization_id });
  const failures = events.filter(({ event_type }) => event_type === "agent.delete.failed");
  expect(new Set(failures.map(({ board_id, message }) => [board_id, /agent (\w+)/.exec(message!)?.[1]].join()))).toEqual(
    new Set([",Lead", ",Worker"]),
  );
});
