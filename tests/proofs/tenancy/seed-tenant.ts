import { agents, channels, jobs, slack_apps, users } from "@board/core/schema/all-tables";
import { and, eq, isNull } from "drizzle-orm";
import type { Answer, CallOptions } from "../../support/http.ts";
import { addTask } from "../../support/task.ts";
import type { Tenant, World } from "../../support/world.ts";

/** The marker word in every text of the home organization. */
export const ORGANIZATION_MARK = "proprietary";
/** The marker word in every text on the home board, which not every member may read. */
export const BOARD_MARK = "classified";
/** The marker words on an unrelated board and on the other board of the group. */
export const OTHER_BOARD_MARK = "secluded";
export const GROUP_BOARD_MARK = "adjacent";

/** The skill pack of the home organization. */
export const REPOSITORY = "https://github.com/acme/first";

/** Ids by placeholder. */
export type Ids = Readonly<Record<string, string>>;

type Send = (method: string, path: string, body?: object, options?: CallOptions) => Promise<Answer["body"]>;

/** Sends requests that must succeed and returns their bodies. */
export const createSender =
  (world: World, { token }: Tenant["owner"]): Send =>
  async (method, path, body, options = { token }) => {
    const answer = await world.call(method, path, { ...options, ...(body ? { body } : {}) });
    if (![200, 202].includes(answer.status)) throw new Error(`${method} ${path}: ${answer.status} ${answer.text}`);
    return answer.body;
  };

/** Creates the rows of an organization outside its boards, with the marker word in every text. */
export async function seedOrganization(world: World, tenant: Tenant, mark: string, repository: string): Promise<Ids> {
  const send = createSender(world, tenant.owner);
  const { gateway_id, organization_id } = tenant;
  await send("PATCH", `/api/v1/gateways/${gateway_id}`, { name: `Host ${mark}` });
  await send("PATCH", "/api/v1/users/me", { preferred_name: mark, notes: mark });
  const tag = await send("POST", "/api/tags", { name: `Tag ${mark}`, description: mark });
  const skill = await send("POST", "/api/skills/marketplace", {
    source_url: `${repository}/tree/main/skill`,
    name: `Skill ${mark}`,
  });
  const pack = await send("POST", "/api/skills/packs", { source_url: repository, name: `Pack ${mark}` });
  const invite = await send("POST", "/organizations/me/invites", { invited_email: `${mark}@example.com` });
  const later = { token: tenant.owner.token, headers: { prefer: "respond-async" } };
  const sync = await send("POST", `/api/v1/gateways/${gateway_id}/templates/sync`, undefined, later);
  const pack_sync = await send("POST", `/api/skills/packs/${pack.id}/sync`, undefined, later);
  await send("POST", `/api/skills/marketplace/${skill.id}/install?gateway_id=${gateway_id}`);
  const guest = await world.person(`guest ${mark}`, { email: `guest-${mark}@example.com` });
  const member_id = await world.join(guest, organization_id, "member");
  const job_id = await addDeadJob(world, tenant, mark);
  const ids = { tag_id: tag.id, skill_id: skill.id, pack_id: pack.id, invite_id: invite.id, member_id, job_id };
  const key = await send("POST", "/api/v1/keys", { name: `Key ${mark}`, access: "read" });
  const own_key = await send("POST", "/api/v1/users/me/keys", { name: `Own key ${mark}`, access: "read" });
  const [person] = await world.db.select().from(users).where(eq(users.auth_subject, tenant.owner.subject));
  const [channel] = await world.db
    .insert(channels)
    .values({ user_id: person!.id, type: "push", address_digest: mark })
    .returning();
  await seedSlackApp(world, organization_id, mark);
  const [main] = await world.db
    .select()
    .from(agents)
    .where(and(eq(agents.gateway_id, gateway_id), isNull(agents.board_id)));
  return {
    ...ids,
    key_id: key.id,
    own_key_id: own_key.id,
    channel_id: channel!.id,
    main_id: main!.id,
    gateway_id,
    organization_id,
    run_id: sync.run_id,
    pack_run_id: pack_sync.run_id,
    lead_id: tenant.lead.id,
  };
}

/** Stores the Slack app of an organization, with the marker word in every text. */
export async function seedSlackApp(world: World, organization_id: string, mark: string): Promise<void> {
  const sealed = { bot_token_sealed: Buffer.alloc(40), signing_secret_sealed: Buffer.alloc(40) };
  await world.db.insert(slack_apps).values({ organization_id, team_id: mark, team_name: mark, bot_user_id: mark, ...sealed });
}

async function addDeadJob(world: World, { organization_id, gateway_id }: Tenant, mark: string): Promise<string> {
  const payload = { gateway_id, session_key: `agent:${mark}:main`, label: mark, message: mark, deliver: false };
  const dead = { status: "dead" as const, attempts: 6, max_attempts: 6, finished_at: world.now(), run_at: world.now() };
  const [job] = await world.db
    .insert(jobs)
    .values({ kind: "notice", payload, organization_id, gateway_id, last_error: `Refused: ${mark}`, ...dead })
    .returning();
  return job!.id;
}

const RELAXED_RULES = { max_agents: 5, require_approval_for_done: false };

/** Creates the rows of a board and a group for it, with the marker word in every text. */
export async function seedBoard(world: World, tenant: Tenant, ours: string, mark: string): Promise<Ids> {
  const send = createSender(world, tenant.owner);
  const { board_id, worker } = tenant;
  const board = `/api/v1/boards/${board_id}`;
  const group = await send("POST", "/api/v1/board-groups", { name: `Group ${ours}`, description: ours });
  await send("PATCH", board, { name: `Board ${mark}`, description: mark, board_group_id: group.id, ...RELAXED_RULES });
  const webhook = await send("POST", `${board}/webhooks`, { description: mark, secret: `${mark} ${ours}` });
  const unsigned = await send("POST", `${board}/webhooks`, { description: mark });
  const posted = await send("POST", unsigned.endpoint_path, { text: mark }, {});
  const field_key = `field-${ours}`;
  const used = await send("POST", "/organizations/me/custom-fields", { field_key, default_value: ours, board_ids: [board_id] });
  const { items: tags } = await send("GET", "/api/v1/tags");
  const task = await addTask(world, tenant, { title: `Task ${mark}`, description: mark });
  const doing = { title: `Doing ${mark}`, status: "in_progress" as const, assigned_agent_id: worker.id };
  const lease = { lease_expires_at: new Date(Date.now() + 86_400_000), lease_seconds: 86_400, lease_fence: 1 };
  const leased = await addTask(world, tenant, { ...doing, ...lease, in_progress_at: new Date() });
  const waiting = await send("POST", `${board}/tasks`, { title: `Waiting ${mark}`, depends_on_task_ids: [task.id] });
  const reviewed = await send("POST", `${board}/tasks`, {
    title: `Reviewed ${mark}`,
    custom_field_values: { [field_key]: mark },
  });
  await send("PATCH", `${board}/tasks/${reviewed.id}`, { status: "review" });
  const done = await send("POST", `${board}/tasks`, { title: `Done ${mark}`, status: "in_progress" });
  await send("PATCH", `${board}/tasks/${done.id}`, { status: "done" });
  await send("PATCH", board, { require_approval_for_done: true });
  await send("PATCH", `${board}/tasks/${task.id}`, { tag_ids: [tags[0].id], priority: "high" });
  const subscription = await send("POST", `${board}/subscriptions`, { url: "http://127.0.0.1:9/events", description: ours });
  await send("PATCH", `${board}/tasks/${waiting.id}`, { priority: "low" });
  const { items: deliveries } = await send("GET", `${board}/subscriptions/${subscription.id}/deliveries`);
  await send("POST", `${board}/tasks/${task.id}/comments`, { content: mark });
  const file = { name: `${mark}.txt`, content: Buffer.from(mark).toString("base64") };
  const artifact = await send("POST", `${board}/tasks/${task.id}/artifacts`, file);
  await send("PUT", `${board}/artifacts/${artifact.id}/reviewed-files`, { paths: [mark] });
  await send("PUT", `${board}/saved-views`, { views: [{ name: mark, query: "" }] });
  await send("POST", `${board}/memory`, { content: mark });
  await send("POST", `${board}/memory`, { content: mark, tags: ["chat"] });
  await send("POST", `${board}/group-memory`, { content: ours });
  const request = { action_type: `Deploy ${mark}`, description: mark, task_ids: [waiting.id] };
  const approval = await send("POST", `${board}/approvals`, request);
  await send("POST", `${board}/onboarding/start`, {});
  const budget = await send("POST", "/api/v1/budgets", { scope: "board", scope_id: board_id, limit: { runs: 1_000_000 } });
  const unused = { field_key: `unused-${ours}`, board_ids: [board_id] };
  const field = await send("POST", "/organizations/me/custom-fields", unused);
  const named = {
    name: `Worker ${mark}`,
    soul_template: mark,
    identity_profile: { role: mark },
    last_seen_at: new Date(Date.now() - 60_000),
  };
  await world.db.update(agents).set(named).where(eq(agents.id, worker.id));
  return {
    board_id,
    group_id: group.id,
    agent_id: worker.id,
    webhook_id: unsigned.id,
    signed_webhook_id: webhook.id,
    payload_id: posted.payload_id,
    subscription_id: subscription.id,
    delivery_id: deliveries[0].id,
    task_id: task.id,
    waiting_task_id: waiting.id,
    doing_task_id: leased.id,
    task_run_id: leased.run_id!,
    approval_id: approval.id,
    artifact_id: artifact.id,
    budget_id: budget.id,
    field_id: field.id,
    used_field_id: used.id,
    field_key,
  };
}
