import { isDeepStrictEqual } from "node:util";
import {
  activity_events,
  agents,
  approval_task_links,
  approvals,
  boards,
  jobs,
  task_dependencies,
  task_transitions,
  tasks,
} from "@board/core/schema/all-tables";
import { and, asc, eq, gt } from "drizzle-orm";
import type { Answer } from "./http.ts";
import { actAsMainAgent } from "./main-agent.ts";
import { addTask, type TaskRow } from "./task.ts";
import { skipProvisioning } from "./skip-provisioning.ts";
import { createWorld, type Tenant, type World, type WorldOptions } from "./world.ts";

export const STATUSES = ["inbox", "in_progress", "review", "done", "blocked"] as const;
export type Status = (typeof STATUSES)[number];

/** The rules of a board, all switched off. */
export const NO_RULES = {
  require_approval_for_done: false,
  require_review_before_done: false,
  comment_required_for_review: false,
  block_status_changes_with_pending_approval: false,
  only_lead_can_change_status: false,
};
export type Rule = keyof typeof NO_RULES;

interface TeamAgent {
  id: string;
  token: string;
  session_key: string;
}

/** A tenant whose board has no rules, with a second worker and the gateway's main agent. */
export interface Team extends Tenant {
  owner_id: string;
  second: TeamAgent;
  main: TeamAgent;
}

/** The credential of a caller: a person's `token` or an agent's token as `agent`. */
export type Credential = { token: string } | { agent: string };

export async function createTeam(world: World, subject: string, gateway_url?: string): Promise<Team> {
  const home = await world.tenant(subject, gateway_url);
  const second = await addWorker(world, home, "Second");
  const main = await actAsMainAgent(world, home.gateway_id);
  const [row] = await world.db.update(agents).set({ name: "Keeper" }).where(eq(agents.id, main.id)).returning();
  const me = await world.call("GET", "/api/v1/users/me", { token: home.owner.token });
  await setRules(world, home);
  return { ...home, owner_id: me.body.id, second, main: { ...main, session_key: row!.openclaw_session_id! } };
}

/** Opens a world with a team, the credentials of everybody who may move its tasks, and functions that most tests of tasks use. */
export async function openTeamFixture(options: WorldOptions = {}) {
  const world = await createWorld(options);
  const team = await createTeam(world, "home");
  const as = ({ token }: TeamAgent): Credential => ({ agent: token });
  const owner: Credential = { token: team.owner.token };
  return {
    world,
    team,
    owner,
    worker: as(team.worker),
    lead: as(team.lead),
    main: as(team.main),
    add: (fields: Parameters<typeof addTask>[2] = {}) => addTask(world, team, fields),
    change: (who: Credential, task: TaskRow, body: object) => changeTask(world, who, task, body),
    outcome: (who: Credential, task: TaskRow, body: object) => outcomeOf(world, who, task, body),
    close: () => world.close(),
  };
}

export async function addWorker(world: World, { owner, board_id }: Tenant, name: string): Promise<TeamAgent> {
  const created = await world.call("POST", "/api/v1/agents", { token: owner.token, body: { name, board_id } });
  await skipProvisioning(world.db);
  if (created.status !== 200) throw new Error(`${name}: ${created.status} ${created.text}`);
  return { id: created.body.id, token: created.body.auth_token, session_key: created.body.openclaw_session_id };
}

/** Sets the rules of a board and switches all others off. */
export async function setRules(
  world: World,
  { board_id }: { board_id: string },
  rules: Partial<typeof NO_RULES> = {},
): Promise<void> {
  await world.db
    .update(boards)
    .set({ ...NO_RULES, ...rules })
    .where(eq(boards.id, board_id));
}

export const taskPath = ({ board_id }: { board_id: string }, id: string) => `/api/v1/boards/${board_id}/tasks/${id}`;
export const agentTaskPath = ({ board_id }: { board_id: string }, id: string) => `/api/v1/agent/boards/${board_id}/tasks/${id}`;

/** Changes a task under the path for people or for agents, according to the credential. */
export const patchTask = (world: World, who: Credential, task: { board_id: string; id: string }, body: object): Promise<Answer> =>
  world.call("PATCH", "agent" in who ? agentTaskPath(task, task.id) : taskPath(task, task.id), { ...who, body });

/** Changes a task, returns it, and throws when the change is refused. */
export async function changeTask(world: World, who: Credential, task: { board_id: string; id: string }, body: object) {
  const answer = await patchTask(world, who, task, body);
  if (answer.status !== 200) throw new Error(`The change was refused: ${answer.status} ${answer.text}`);
  return answer.body;
}

/**
 * Returns the outcome of a change: 200 and the new status of the task, or the status and detail of a refusal. It throws
 * when a refused change has changed the task.
 */
export async function outcomeOf(
  world: World,
  who: Credential,
  task: { board_id: string; id: string },
  body: object,
): Promise<[number, unknown]> {
  const readState = async () => [await getTask(world, task.id), await eventsOf(world, task), await transitionsOf(world, task.id)];
  const before = await readState();
  const answer = await patchTask(world, who, task, body);
  if (answer.status === 200) return [200, answer.body.status];
  if (!isDeepStrictEqual(await readState(), before)) throw new Error(`A refused change has changed the task: ${answer.text}`);
  return [answer.status, answer.body.detail];
}

export async function getTask(world: World, id: string): Promise<TaskRow> {
  const [row] = await world.db.select().from(tasks).where(eq(tasks.id, id));
  if (!row) throw new Error(`There is no task ${id}`);
  return row;
}

/** Makes a task depend on others, in the given order. */
export async function addDependencies(world: World, task: TaskRow, on: readonly TaskRow[]): Promise<void> {
  const { id: task_id, board_id } = task;
  await world.db
    .insert(task_dependencies)
    .values(on.map(({ id }, position) => ({ board_id, task_id, depends_on_task_id: id, position })));
}

/** Stores an approval that is linked to these tasks. The first task is its primary task. */
export async function addApproval(
  world: World,
  board_id: string,
  task_ids: readonly string[],
  fields: Partial<typeof approvals.$inferInsert> = {},
): Promise<string> {
  const [row] = await world.db
    .insert(approvals)
    .values({ board_id, task_id: task_ids[0]!, action_type: "Deploy", ...fields })
    .returning();
  const pending = row!.status === "pending";
  await world.db
    .insert(approval_task_links)
    .values(task_ids.map((task_id, position) => ({ approval_id: row!.id, task_id, position, pending })));
  return row!.id;
}

/** Stores a status transition of a task by an agent. */
export async function addTransition(
  world: World,
  { id, board_id }: TaskRow,
  [from_status, to_status]: readonly [Status, Status],
  agent: { id: string },
  at: Date,
): Promise<void> {
  await world.db.insert(task_transitions).values({ task_id: id, board_id, from_status, to_status, agent_id: agent.id, at });
}

/** Stores a comment by an agent. */
export async function addComment(world: World, home: Tenant, task: TaskRow, by: { id: string }, message: string, at: Date) {
  await world.db.insert(activity_events).values({
    event_type: "task.comment",
    organization_id: home.organization_id,
    board_id: task.board_id,
    task_id: task.id,
    agent_id: by.id,
    message,
    created_at: at,
  });
}

export const transitionsOf = (world: World, task_id: string) =>
  world.db.select().from(task_transitions).where(eq(task_transitions.task_id, task_id)).orderBy(asc(task_transitions.at));

/** Returns the task events of a board in the order in which streams show them. */
export async function taskEvents(world: World, { board_id }: { board_id: string }) {
  const rows = await world.db
    .select()
    .from(activity_events)
    .where(eq(activity_events.board_id, board_id))
    .orderBy(asc(activity_events.tx), asc(activity_events.seq));
  return rows.filter(({ event_type }) => event_type.startsWith("task."));
}

/** Returns the type and the message of the events of a task. */
export const eventsOf = async (world: World, { id, board_id }: { id: string; board_id: string }) =>
  (await taskEvents(world, { board_id }))
    .filter(({ task_id }) => task_id === id)
    .map(({ event_type, message }) => [event_type, message]);

export interface StoredNotice {
  session_key: string;
  label: string;
  message: string;
  deliver: boolean;
  sent?: { event_type: string };
  failed?: { event_type: string };
}

/** Returns a function that lists the notices enqueued for a tenant since this call. */
export async function recordNotices(world: World, { organization_id }: { organization_id: string }) {
  const read = (after: bigint) =>
    world.db
      .select()
      .from(jobs)
      .where(and(eq(jobs.organization_id, organization_id), eq(jobs.kind, "notice"), gt(jobs.seq, after)))
      .orderBy(asc(jobs.seq));
  const start = (await read(-1n)).at(-1)?.seq ?? -1n;
  return async (): Promise<StoredNotice[]> => (await read(start)).map(({ payload }) => payload as StoredNotice);
}

/** Returns the session key and the header of each notice, sorted. */
export const headersOf = (notices: readonly StoredNotice[]): string[] =>
  notices.map(({ session_key, message }) => `${session_key} ${message.split("\n")[0]}`).toSorted();
