import { activity_events, approval_task_links, tasks, users } from "@board/core/schema/all-tables";
import { asc, eq, like } from "drizzle-orm";
import { addBoard } from "./board.ts";
import { renew, setupWorld } from "./fixtures.ts";
import type { Person, Tenant, World } from "./world.ts";

type Task = typeof tasks.$inferInsert;

/** A board for a single test, whose only agent is a worker. */
interface ApprovalBoard {
  world: World;
  home: Tenant;
  /** An admin who may read every board and write to none. */
  reader: Person;
  owner_id: string;
}

/** Creates an organization for all tests of a file, and a new board for each test. */
export async function setupApprovalBoards(): Promise<ApprovalBoard> {
  const world = await setupWorld();
  const tenant = await world.tenant("home");
  const reader = await world.member("reader", tenant, "admin", { read: true });
  const [owner] = await world.db.select().from(users).where(eq(users.auth_subject, tenant.owner.subject));
  const home = renew(async (n) => {
    const { board_id, agent } = await addBoard(world, tenant, `Board ${n}`);
    return { ...tenant, board_id, worker: { ...agent, session_key: "" } };
  });
  return { world, home, reader, owner_id: owner!.id };
}

/** Stores tasks of a board and returns their ids in the given order. */
export async function addTasks(world: World, board_id: string, titles: readonly string[], more: Partial<Task> = {}) {
  const rows = await world.db
    .insert(tasks)
    .values(titles.map((title) => ({ ...more, board_id, title })))
    .returning();
  return titles.map((title) => rows.find((row) => row.title === title)!.id);
}

export const approvalsPath = (board_id: string, rest = "") => `/api/v1/boards/${board_id}/approvals${rest}`;

/** Requests an approval as the board's worker and returns the body of the answer. */
export async function requestApproval(world: World, tenant: Tenant, body: object = {}) {
  const made = await world.call("POST", `/api/v1/agent/boards/${tenant.board_id}/approvals`, {
    agent: tenant.worker.token,
    body: { action_type: "Deploy", description: "It is ready", ...body },
  });
  if (made.status !== 200) throw new Error(`approval: ${made.status} ${made.text}`);
  return made.body;
}

/** Decides an approval as the owner. */
export const decideApproval = (world: World, tenant: Tenant, approval_id: string, status: unknown) =>
  world.call("PATCH", approvalsPath(tenant.board_id, `/${approval_id}`), { token: tenant.owner.token, body: { status } });

/** Returns the approval events of a board in the order in which streams show them. */
export async function listApprovalEvents(world: World, board_id: string) {
  const rows = await world.db
    .select()
    .from(activity_events)
    .where(like(activity_events.event_type, "approval.%"))
    .orderBy(asc(activity_events.tx), asc(activity_events.seq));
  return rows.filter((row) => row.board_id === board_id);
}

/** Returns the task ids linked to an approval with their pending flags, in order. */
export async function listApprovalLinks(world: World, approval_id: string): Promise<[string, boolean][]> {
  const rows = await world.db
    .select()
    .from(approval_task_links)
    .where(eq(approval_task_links.approval_id, approval_id))
    .orderBy(asc(approval_task_links.position));
  return rows.map(({ task_id, pending }) => [task_id, pending]);
}
