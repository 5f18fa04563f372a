import { setTimeout as pause } from "node:timers/promises";
import { rowsOf } from "@board/core/db/database";
import { task_transitions, tasks } from "@board/core/schema/all-tables";
import { asc, eq, sql } from "drizzle-orm";
import { expect } from "vitest";
import { listEvents } from "./activity.ts";
import type { Answer, CallOptions } from "./http.ts";
import { openServerWorld } from "./postgres-world.ts";
import { addTask } from "./task.ts";
import type { Tenant, World } from "./world.ts";

/** A tenant in a world with many database connections. */
export interface RaceFixture {
  world: World;
  home: Tenant;
  close: () => Promise<void>;
}

export async function openRaceFixture(): Promise<RaceFixture> {
  const { world, close } = await openServerWorld();
  return { world, home: await world.tenant("home"), close };
}

interface Worker {
  id: string;
  token: string;
}

/** A board with a lead and workers, and the requests that they and the owner send. */
export interface RaceBoard {
  board_id: string;
  /** The owner's credential. */
  person: CallOptions;
  lead: CallOptions;
  workers: Worker[];
  /** Stores independent tasks and returns their ids in the order in which rows are locked. */
  tasks: (count: number, fields?: Partial<typeof tasks.$inferInsert>) => Promise<string[]>;
  patch: (task_id: string, body: object, by?: CallOptions) => Promise<Answer>;
  create: (body: object, by?: CallOptions) => Promise<Answer>;
  comment: (task_id: string, by?: CallOptions) => Promise<Answer>;
  remove: (task_id: string) => Promise<Answer>;
  /** Requests an approval as the first worker. */
  ask: (task_ids: readonly string[], action_type?: string) => Promise<Answer>;
  decide: (approval_id: string, status: string) => Promise<Answer>;
}

/** Adds a board. `rules` are the rules that are switched on; without rules, every move is allowed. */
export async function addRaceBoard(world: World, tenant: Tenant, size: number, rules: object = {}): Promise<RaceBoard> {
  const person = { token: tenant.owner.token };
  const create = async (path: string, body: object) => {
    const created = await world.call("POST", path, { ...person, body });
    if (created.status !== 200) throw new Error(`${path}: ${created.status} ${created.text}`);
    return created.body;
  };
  const settings = { require_approval_for_done: false, max_agents: size, ...rules };
  const { gateway_id } = tenant;
  const { id: board_id } = await create("/api/v1/boards", { name: "Crew", description: "A board", gateway_id, ...settings });
  const lead = await create("/api/v1/agents", { name: "Lead", board_id, is_board_lead: true });
  const workers: Worker[] = [];
  for (let number = 1; number <= size; number++) {
    const { id, auth_token } = await create("/api/v1/agents", { name: `Worker ${number}`, board_id });
    workers.push({ id, token: auth_token });
  }
  const board = `/api/v1/boards/${board_id}`;
  const asFirst = { agent: workers[0]?.token ?? lead.auth_token };
  return {
    board_id,
    person,
    lead: { agent: lead.auth_token },
    workers,
    async tasks(count, fields) {
      const rows = await Promise.all(Array.from({ length: count }, () => addTask(world, { board_id }, fields)));
      return rows.map(({ id }) => id).toSorted();
    },
    patch: (task_id, body, by = person) => world.call("PATCH", `${board}/tasks/${task_id}`, { ...by, body }),
    create: (body, by = person) =>
      world.call("POST", `${by.agent ? "/api/v1/agent" : "/api/v1"}/boards/${board_id}/tasks`, { ...by, body }),
    comment: (task_id, by = person) =>
      world.call("POST", `${board}/tasks/${task_id}/comments`, { ...by, body: { content: "Well, @lead" } }),
    remove: (task_id) => world.call("DELETE", `${board}/tasks/${task_id}`, person),
    ask: (task_ids, action_type = "Do") =>
      world.call("POST", `${board}/approvals`, { ...asFirst, body: { action_type, description: "Why", task_ids } }),
    decide: (approval_id, status) => world.call("PATCH", `${board}/approvals/${approval_id}`, { ...person, body: { status } }),
  };
}

export type Send = () => Promise<Answer>;

/** Sends all requests within the given milliseconds in random order. */
export const sendStaggered = (requests: readonly Send[], ms: number): Promise<Answer[]> =>
  Promise.all(
    requests.map(async (send) => {
      await pause(Math.random() * ms);
      return send();
    }),
  );

/** Expects that every answer has one of these statuses. */
export function expectOnly(answers: readonly Answer[], allowed: readonly number[]): void {
  const unexpected = answers.filter(({ status }) => !allowed.includes(status));
  expect(unexpected.map(({ status, text }) => `${status} ${text}`)).toEqual([]);
}

export const statuses = (answers: readonly Answer[]) => answers.map(({ status }) => status).toSorted((a, b) => a - b);

export const createMany = <T>(count: number, create: (index: number) => T): T[] =>
  Array.from({ length: count }, (_, index) => create(index));

export const pick = <T>(from: readonly T[]): T => from[Math.floor(Math.random() * from.length)]!;

/** Returns up to `most` distinct elements in random order. */
export const randomSubset = <T>(from: readonly T[], most: number): T[] => {
  const rest = [...from];
  const count = 1 + Math.floor(Math.random() * most);
  return Array.from({ length: Math.min(count, rest.length) }, () => rest.splice(Math.floor(Math.random() * rest.length), 1)[0]!);
};

export const findTask = async (world: World, task_id: string) =>
  (await world.db.select().from(tasks).where(eq(tasks.id, task_id)))[0];

/** Returns tasks that are assigned or in work although a dependency is open, except those with the status blocked. */
export async function listBlockedTasksInWork(world: World, board_id: string): Promise<string[]> {
  const result = await world.db.execute(sql`
    select task.title || ' ' || task.status || ' ' || coalesce(task.assigned_agent_id::text, '') as what from tasks as task
    where task.board_id = ${board_id} and task.status not in ('done', 'blocked')
      and (task.status in ('in_progress', 'review') or task.assigned_agent_id is not null)
      and exists (select 1 from task_dependencies as link join tasks as other on other.id = link.depends_on_task_id
        where link.task_id = task.id and other.status <> 'done')`);
  return rowsOf<{ what: string }>(result).map(({ what }) => what);
}

/** Returns the tasks of a board that depend on themselves through a cycle. */
export async function listDependencyCycles(world: World, board_id: string): Promise<string[]> {
  const result = await world.db.execute(sql`
    with recursive walked(start, id) as (
      select task_id, depends_on_task_id from task_dependencies where board_id = ${board_id}
      union select walked.start, link.depends_on_task_id
        from walked join task_dependencies as link on link.task_id = walked.id)
    select start from walked where start = id`);
  return rowsOf<{ start: string }>(result).map(({ start }) => start);
}

/** Returns the recorded moves of a task as `from>to`, oldest first. */
export async function listMoves(world: World, task_id: string): Promise<string[]> {
  const rows = await world.db
    .select()
    .from(task_transitions)
    .where(eq(task_transitions.task_id, task_id))
    .orderBy(asc(task_transitions.at));
  return rows.map(({ from_status, to_status }) => `${from_status}>${to_status}`);
}

/**
 * Counts how often a task became done, and how often it did so without an approval granted since it was last reopened. It reads the
 * events of moves and decisions, which are in the order in which the requests locked the task.
 */
export async function countCompletions(world: World, task_id: string): Promise<{ all: number; unapproved: number }> {
  const events = await listEvents(world, { task_id });
  const count = { all: 0, unapproved: 0 };
  const granted = new Set<string>();
  let done = false;
  for (const { message } of events) {
    const [, what, name] = /^(?:Task|Approval) (approved|rejected|reopened|moved to \w+): (.*)\.$/.exec(message!) ?? [];
    if (what === "approved") granted.add(name!);
    else if (what === "rejected" || what === "reopened") granted.delete(name!);
    else if (what) {
      if (done) granted.clear();
      done = what === "moved to done";
      count.all += Number(done);
      count.unapproved += Number(done && granted.size === 0);
    }
  }
  return count;
}

/** Returns how often the server ended a transaction because of a deadlock. */
export async function countDeadlocks(world: World): Promise<number> {
  const result = await world.db.execute(
    sql`select deadlocks::int as total from pg_stat_database where datname = current_database()`,
  );
  return rowsOf<{ total: number }>(result)[0]!.total;
}
