import {
  activity_events,
  agents,
  approvals,
  inbox_acknowledgements,
  inbox_messages,
  run_tokens,
  tag_assignments,
  task_dependencies,
  type tasks,
} from "@board/core/schema/all-tables";
import { and, eq, isNull } from "drizzle-orm";
import { addTask } from "../../support/task.ts";
import type { Tenant, World } from "../../support/world.ts";
import { BOARD_MARK, createSender, type Ids } from "./seed-tenant.ts";

type NewTask = Partial<typeof tasks.$inferInsert>;

/** These rank before all other tasks, so that `next` returns them if a condition is missing. */
const FIRST: NewTask = { priority: "high", due_at: new Date("2020-01-01") };
const IN_WORK: NewTask = { status: "in_progress", in_progress_at: new Date() };
const EXPIRED: NewTask = { ...IN_WORK, lease_expires_at: new Date("2020-01-01"), lease_seconds: 60, lease_fence: 1 };

/**
 * Stores tasks that the agents of the home board could take on the board of another gateway, and a free task without marker
 * words that they may take. Returns the free task.
 */
export async function seedForeignTasks(world: World, known: Ids, apart_board_id: string): Promise<string> {
  const add = async (board_id: string, fields: NewTask): Promise<string> => {
    const { id: task_id } = await addTask(world, { board_id }, { ...FIRST, ...fields });
    await world.db.insert(tag_assignments).values({ task_id, tag_id: known.tag_id!, position: 0 });
    return task_id;
  };
  await add(apart_board_id, {});
  for (const assigned_agent_id of [known.agent_id!, known.lead_id!, known.main_id!])
    for (const fields of [{}, IN_WORK]) await add(apart_board_id, { ...fields, assigned_agent_id });
  await add(apart_board_id, { ...EXPIRED, assigned_agent_id: known.main_id! });
  return add(known.board_id!, { due_at: new Date("2021-01-01") });
}

/** Stores comments on tasks of the home board, and a dependency of the first, that belong to another board. */
export async function seedForeignDetails(world: World, known: Ids, elsewhere: Ids, task_ids: readonly string[]): Promise<void> {
  const { db } = world;
  const { organization_id } = known;
  const board_id = elsewhere.board_id!;
  const comment = { organization_id: organization_id!, board_id, event_type: "task.comment", message: "Said elsewhere" };
  await db.insert(activity_events).values(task_ids.map((task_id) => ({ ...comment, task_id })));
  const task_id = task_ids[0]!;
  const { id: done_id } = await addTask(world, { board_id }, { title: "Done", status: "done" });
  await db.insert(task_dependencies).values({ board_id: known.board_id!, task_id, depends_on_task_id: done_id, position: 0 });
}

/**
 * Stores messages to agents, and a decision that only the worker has acknowledged. One message to the worker names another
 * organization. Returns the worker's message and the lead's later message.
 */
export async function seedInboxes(world: World, known: Ids, theirs: Ids, apart_gateway_id: string): Promise<Ids> {
  const { db } = world;
  const organization_id = known.organization_id!;
  const board_id = known.board_id!;
  const [otherMain] = await db
    .select()
    .from(agents)
    .where(and(eq(agents.gateway_id, apart_gateway_id), isNull(agents.board_id)));
  const add = async (agent_id: string, place: { organization_id: string; board_id: string | null }, text: string) => {
    const [row] = await db
      .insert(inbox_messages)
      .values({ agent_id, ...place, kind: "agent.nudge", text })
      .returning();
    return row!.id;
  };
  const home = { organization_id, board_id };
  const mismatched_message_id = await add(known.agent_id!, { ...home, organization_id: theirs.organization_id! }, "Mismatched");
  await add(known.lead_id!, home, `Lead ${BOARD_MARK}`);
  const message_id = await add(known.agent_id!, home, `Worker ${BOARD_MARK}`);
  const lead_message_id = await add(known.lead_id!, home, `Lead again ${BOARD_MARK}`);
  for (const agent_id of [known.main_id!, otherMain!.id]) await add(agent_id, { organization_id, board_id: null }, "Main");
  await add(theirs.agent_id!, { organization_id: theirs.organization_id!, board_id: theirs.board_id! }, "Theirs");
  await db.insert(approvals).values({ board_id, action_type: "Close", status: "approved", resolved_at: new Date() });
  await db.insert(inbox_acknowledgements).values({ agent_id: known.agent_id!, acknowledged_at: new Date(Date.now() + 60_000) });
  return { message_id, lead_message_id, mismatched_message_id };
}

/** Stores the token of a run of another organization. */
export async function seedForeignRunToken({ db }: World, { task_run_id }: Ids): Promise<void> {
  await db.insert(run_tokens).values({ run_id: task_run_id!, token_lookup: "of a run elsewhere" });
}

/** Adds a board whose lead has no host and was never seen, with a webhook. */
export async function seedRemoteBoard(world: World, { owner }: Tenant): Promise<Ids> {
  const send = createSender(world, owner);
  const board = await send("POST", "/api/v1/boards", { name: "Remote", description: "Remote", gateway: "pull" });
  const lead = await send("POST", "/api/v1/agents", { name: "Remote lead", board_id: board.id, is_board_lead: true });
  const webhook = await send("POST", `/api/v1/boards/${board.id}/webhooks`, { description: "Remote" });
  await world.db.update(agents).set({ last_seen_at: null }).where(eq(agents.id, lead.id));
  return { remote_board_id: board.id, remote_webhook_id: webhook.id };
}
