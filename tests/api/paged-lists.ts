import {
  activity_events,
  agents,
  approvals,
  artifacts,
  audit_events,
  board_group_memory,
  board_groups,
  board_memory,
  board_webhook_payloads,
  board_webhooks,
  boards,
  budget_spending,
  budgets,
  gateway_connectivity,
  gateways,
  api_keys,
  organization_invites,
  organization_members,
  runs,
  subscriptions,
  tags,
  tasks,
  users,
} from "@board/core/schema/all-tables";
import { seal } from "@board/core/values/seal";
import { TASK_ORDERS } from "@board/core/task/task-order";
import { eq, inArray } from "drizzle-orm";
import type { PgTable } from "drizzle-orm/pg-core";
import { actAsMainAgent } from "../support/main-agent.ts";
import { addTask } from "../support/task.ts";
import { createWebhook } from "../support/webhook.ts";
import type { CallOptions } from "../support/http.ts";
import type { Tenant, World } from "../support/world.ts";

/** A list of the API, and functions that add and remove its rows. */
export interface PagedList {
  /** The path in the route table. */
  path: string;
  url: string;
  who: CallOptions;
  /** Adds a row that was created at this time, and returns the id of its item. */
  add(created_at: Date): Promise<string>;
  remove(ids: string[]): Promise<unknown>;
}

const idOf = (table: PgTable) => (table as typeof tags).id;

/** Returns all lists of an organization that have pages. The list of tasks occurs once for each order. */
export async function openPagedLists(world: World, home: Tenant): Promise<PagedList[]> {
  const { organization_id, gateway_id, board_id } = home;
  const { db } = world;
  const owner = { token: home.owner.token };
  const lead = { agent: home.lead.token };
  const main = { agent: (await actAsMainAgent(world, gateway_id)).token };
  const task = await addTask(world, home);
  const webhook_id = (await createWebhook(world, home)).id;
  const [group] = await db.insert(board_groups).values({ organization_id, name: "Group", slug: "the-group" }).returning();
  const board_group_id = group!.id;
  await db.update(boards).set({ board_group_id }).where(eq(boards.id, board_id));
  let count = 0;
  const name = () => `${["Ann", "ann", "Bob", "Émile", "zoë"][count++ % 5]} ${count % 7} ${count}`;
  const slug = () => `slug-${count}`;
  const own = { organization_id };
  const pick = <T>(...values: T[]) => values[count++ % values.length]!;

  // Drizzle cannot type a query on any table; all of these have an id and a time of creation.
  const storedIn =
    (stored: PgTable, values: (created_at: Date) => object) =>
    (path: string, who: CallOptions, query = ""): PagedList => ({
      path,
      url: toUrl(path) + query,
      who,
      async add(created_at) {
        const [row] = await db
          .insert(stored as typeof tags)
          .values({ created_at, ...values(created_at) } as never)
          .returning({ id: idOf(stored) });
        return row!.id;
      },
      remove: (ids) => db.delete(stored).where(inArray(idOf(stored), ids)),
    });
  const ids: Record<string, string> = { board_id, gateway_id, task_id: task.id, webhook_id, group_id: board_group_id };
  const toUrl = (path: string) => path.replace(/\{(\w+)\}/g, (_, param: string) => ids[param]!);

  const tag = storedIn(tags, () => ({ ...own, name: name(), slug: slug(), color: "000000" }));
  const boardTask = storedIn(tasks, (at) => ({
    board_id,
    title: name(),
    priority: pick("low", "high", "medium", "odd"),
    due_at: pick(null, at, new Date(at.getTime() + 1_000)),
    updated_at: at,
  }));
  const comment = storedIn(activity_events, () => ({
    ...own,
    board_id,
    task_id: task.id,
    event_type: "task.comment",
    message: "x",
  }));
  const event = storedIn(activity_events, () => ({ ...own, board_id: pick(board_id, null), event_type: "board.updated" }));
  const eventOfLead = storedIn(activity_events, () => ({ ...own, agent_id: home.lead.id, event_type: "agent.updated" }));
  const agent = storedIn(agents, () => ({ gateway_id, board_id, name: name() }));
  const gateway = storedIn(gateways, () => ({ ...own, name: name(), url: "ws://127.0.0.1", workspace_root: "/w" }));
  const connectivity = storedIn(gateway_connectivity, () => ({ gateway_id, state: "connected", version: name() }));
  const boardGroup = storedIn(board_groups, () => ({ ...own, name: name(), slug: slug() }));
  const board = storedIn(boards, () => ({ ...own, gateway_id, name: name(), slug: slug(), description: "x" }));
  const approval = storedIn(approvals, () => ({ board_id, action_type: "x", status: "approved" }));
  const artifact = storedIn(artifacts, () => ({
    ...own,
    board_id,
    task_id: task.id,
    name: name(),
    content_type: "text/plain",
    size: 1,
    sha256: "0",
    status: "ready",
    content: Buffer.from("x"),
  }));
  const memory = storedIn(board_memory, () => ({ board_id, content: "x" }));
  const groupMemory = storedIn(board_group_memory, () => ({ board_group_id, content: "x" }));
  const run = storedIn(runs, (started_at) => ({
    board_id,
    task_id: task.id,
    agent_id: home.worker.id,
    agent_name: name(),
    fence: count,
    status: "submitted",
    started_at,
    ended_at: started_at,
  }));
  const webhook = storedIn(board_webhooks, () => ({ board_id, description: "x" }));
  const payload = storedIn(board_webhook_payloads, (received_at) => ({
    board_id,
    webhook_id,
    body: Buffer.from("{}"),
    body_kind: "json",
    headers: {},
    source_ip: "::1",
    received_at,
  }));
  const invite = storedIn(organization_invites, () => ({
    ...own,
    invited_email: `${slug()}-${count++}@example.com`,
    token_digest: `${count}`,
    token_sealed: seal(world.settings.encryption_key, "token"),
    role: "member",
  }));
  const subscription = storedIn(subscriptions, () => ({
    ...own,
    board_id,
    url: "https://receiver.example.com",
    event_types: ["*"],
    format: "standard",
    secret_sealed: Buffer.from("x"),
  }));
  const [ownMember] = await db
    .select({ id: organization_members.id })
    .from(organization_members)
    .where(eq(organization_members.organization_id, organization_id));
  const key = (path: string): PagedList => ({
    path,
    url: path,
    who: owner,
    async add(created_at) {
      const [user] = await db
        .insert(users)
        .values({ auth_issuer: "key", auth_subject: slug() + count++, name: name(), service_organization_id: organization_id })
        .returning();
      const id = user!.id;
      await db.insert(api_keys).values({ ...own, id, access: "read", prefix: "bk_", created_at, owner_member_id: ownMember!.id });
      return id;
    },
    remove: (ids) => db.delete(api_keys).where(inArray(api_keys.id, ids)),
  });
  const audit = storedIn(audit_events, (at) => ({
    ...own,
    at,
    seq: 1_000_000_000 - count++,
    action: "key.created",
    actor_type: "user",
    target_type: "key",
    changes: {},
    hash: Buffer.alloc(32),
  }));
  const budget = (path: string): PagedList => {
    const stored = storedIn(budgets, () => ({
      ...own,
      scope: "organization",
      period: "total",
      timezone: "UTC",
      limit_runs: 1,
      warn_at: 0.8,
      on_limit: "warn",
    }))(path, owner);
    return {
      ...stored,
      async add(created_at) {
        const budget_id = await stored.add(created_at);
        await db.insert(budget_spending).values({ budget_id });
        return budget_id;
      },
    };
  };
  const member = (path: string): PagedList => ({
    ...storedIn(organization_members, () => ({}))(path, owner),
    async add() {
      const person = { auth_subject: `person ${count}`, email: pick(null, `${name()}@example.com`), name: pick(null, name()) };
      const [user] = await db.insert(users).values(person).returning();
      const values = { ...own, user_id: user!.id, role: "member" as const };
      const [row] = await db.insert(organization_members).values(values).returning();
      return row!.id;
    },
  });
  const b = "/api/v1/boards/{board_id}";
  const a = "/api/v1/agent/boards/{board_id}";
  return [
    tag("/api/v1/tags", owner),
    ...["", ...Object.keys(TASK_ORDERS)].map((sort) => boardTask(`${b}/tasks`, owner, sort && `?sort=${sort}`)),
    boardTask(`${a}/tasks`, lead),
    comment(`${b}/tasks/{task_id}/comments`, owner),
    comment(`${a}/tasks/{task_id}/comments`, lead),
    comment("/api/v1/activity/task-comments", owner),
    comment("/api/activity/task-comments", owner, `?board_id=${board_id}`),
    event("/api/v1/activity", owner),
    eventOfLead("/api/activity", lead),
    agent("/api/v1/agents", owner),
    agent("/api/v1/agent/agents", lead),
    gateway("/api/v1/gateways", owner),
    connectivity("/api/v1/gateways/{gateway_id}/connectivity/changes", owner),
    boardGroup("/api/v1/board-groups", owner),
    board("/api/v1/boards", owner),
    board("/api/v1/agent/boards", main),
    run(`${b}/runs`, owner),
    run(`${b}/tasks/{task_id}/runs`, lead),
    artifact(`${b}/tasks/{task_id}/artifacts`, owner),
    artifact("/api/v1/artifacts", owner),
    approval(`${b}/approvals`, owner),
    approval(`${a}/approvals`, lead),
    memory(`${b}/memory`, owner),
    memory(`${a}/memory`, lead),
    groupMemory("/api/v1/board-groups/{group_id}/memory", owner),
    groupMemory(`${b}/group-memory`, lead),
    webhook(`${b}/webhooks`, owner),
    payload(`${b}/webhooks/{webhook_id}/payloads`, owner),
    member("/organizations/me/members"),
    member("/api/v1/organizations/me/members"),
    invite("/organizations/me/invites", owner),
    invite("/api/v1/organizations/me/invites", owner),
    subscription("/api/v1/subscriptions", owner),
    subscription(`${b}/subscriptions`, owner),
    budget("/api/v1/budgets"),
    audit("/api/v1/audit", owner),
    key("/api/v1/keys"),
    key("/api/v1/users/me/keys"),
  ];
}
