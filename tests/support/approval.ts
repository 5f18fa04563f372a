import { activity_events, approval_task_links, tasks, users } from "@board/core/db/schema";
import { asc, eq, like } from "drizzle-orm";
import { beforeAll } from "vitest";
import { addBoard } from "./board.ts";
import { createWorld, type Person, type Tenant, type World } from "./world.ts";

type Task = typeof tasks.$inferInsert;

/** A board of one test's own, whose only agent is its worker. */
export interface ApprovalBoard {
  world: World;
  home: Tenant;
  /** An admin who may read the organization's boards and write to none. */
  reader: Person;
  owner_id: string;
}

/** An organization for all tests of the file that asks. The function returned makes a board there. */
export function boardsToApproveOn(): () => Promise<ApprovalBoard> {
  let made: Omit<ApprovalBoard, "home"> & { tenant: Tenant };
  let count = 0;
  beforeAll(async () => {
    const world = await createWorld();
    const tenant = await world.tenant("home");
    const reader = await world.person("reader");
    await world.join(reader, tenant.organization_id, "admin", { read: true });
    const [owner] = await world.db.select().from(users).where(eq(users.auth_subject, tenant.owner.subject));
    made = { world, tenant, reader, owner_id: owner!.id };
    return () => world.close();
  });
  return async () => {
    const { tenant, ...shared } = made;
    const { board_id, agent } = await addBoard(shared.world, tenant, `Board ${++count}`);
    return { ...shared, home: { ...tenant, board_id, worker: { ...agent, session_key: "" } } };
  };
}

/** Stores tasks of a board; returns their ids in the order given. */
export async function addTasks(world: World, board_id: string, titles: readonly string[], more: Partial<Task> = {}) {
  const rows = await world.db
    .insert(tasks)
    .values(titles.map((title) => ({ ...more, board_id, title })))
    .returning();
  return titles.map((title) => rows.find((row) => row.title === title)!.id);
}

export const approvalsPath = (board_id: string, rest = "") => `/api/v1/boards/${board_id}/approvals${rest}`;

/** Asks for an approval as the board's worker; returns the answer's body. */
export async function ask(world: World, tenant: Tenant, body: object = {}) {
  const made = await world.call("POST", `/api/v1/agent/boards/${tenant.board_id}/approvals`, {
    agent: tenant.worker.token,
    body: { action_type: "Deploy", description: "It is ready", ...body },
  });
  if (made.status !== 200) throw new Error(`approval: ${made.status} ${made.text}`);
  return made.body;
}

/** Decides as the owner. */
export const decide = (world: World, tenant: Tenant, approval_id: string, status: unknown) =>
  world.call("PATCH", approvalsPath(tenant.board_id, `/${approval_id}`), { token: tenant.owner.token, body: { status } });

/** The events of a board's approvals, in the order in which streams show them. */
export async function approvalEvents(world: World, board_id: string) {
  const rows = await world.db
    .select()
    .from(activity_events)
    .where(like(activity_events.event_type, "approval.%"))
    .orderBy(asc(activity_events.tx), asc(activity_events.seq));
  return rows.filter((row) => row.board_id === board_id);
}

/** Task ids of an approval's links with their pending flags, in order. */
export async function linksOf(world: World, approval_id: string): Promise<[string, boolean][]> {
  const rows = await world.db
    .select()
    .from(approval_task_links)
    .where(eq(approval_task_links.approval_id, approval_id))
    .orderBy(asc(approval_task_links.position));
  return rows.map(({ task_id, pending }) => [task_id, pending]);
}
