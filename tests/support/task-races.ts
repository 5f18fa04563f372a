import { setTimeout as pause } from "node:timers/promises";
import { rowsOf } from "@board/core/db/database";
import { activity_events, task_transitions, tasks } from "@board/core/db/schema";
import { asc, eq, sql } from "drizzle-orm";
import { expect } from "vitest";
import type { Answer, CallOptions } from "./http.ts";
import { openServerWorld } from "./server-world.ts";
import { addTask } from "./task.ts";
import type { Tenant, World } from "./world.ts";

/** A tenant on a server with many connections. */
export interface Races {
  world: World;
  home: Tenant;
  close: () => Promise<void>;
}

export async function openRaces(): Promise<Races> {
  const { world, close } = await openServerWorld();
  return { world, home: await world.tenant("home"), close };
}

interface Worker {
  id: string;
  token: string;
}

/** A board of its own with a lead and workers, and what they and the owner do there. */
export interface Crew {
  board_id: string;
  /** The owner. */
  person: CallOptions;
  lead: CallOptions;
  workers: Worker[];
  /** Stores as many tasks, none depending on another; returns their ids in the order in which rows are locked. */
  tasks: (count: number, fields?: Partial<typeof tasks.$inferInsert>) => Promise<string[]>;
  patch: (task_id: string, body: object, by?: CallOptions) => Promise<Answer>;
  create: (body: object, by?: CallOptions) => Promise<Answer>;
  comment: (task_id: string, by?: CallOptions) => Promise<Answer>;
  remove: (task_id: string) => Promise<Answer>;
  /** Asks for an approval as the first worker. */
  ask: (task_ids: readonly string[], action_type?: string) => Promise<Answer>;
  decide: (approval_id: string, status: string) => Promise<Answer>;
}

/** `rules` are the flags of the board; without any every move is open. */
export async function addCrew(world: World, tenant: Tenant, size: number, rules: object = {}): Promise<Crew> {
  const person = { token: tenant.owner.token };
  const make = async (path: string, body: object) => {
    const made = await world.call("POST", path, { ...person, body });
    if (made.status !== 200) throw new Error(`${path}: ${made.status} ${made.text}`);
    return made.body;
  };
  const settings = { require_approval_for_done: false, max_agents: size, ...rules };
  const { gateway_id } = tenant;
  const { id: board_id } = await make("/api/v1/boards", { name: "Crew", description: "A board", gateway_id, ...settings });
  const lead = await make("/api/v1/agents", { name: "Lead", board_id, is_board_lead: true });
  const workers: Worker[] = [];
  for (let number = 1; number <= size; number++) {
    const { id, auth_token } = await make("/api/v1/agents", { name: `Worker ${number}`, board_id });
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

/** Sends all requests within so many milliseconds, in a random order. */
export const scatter = (requests: readonly Send[], ms: number): Promise<Answer[]> =>
  Promise.all(
    requests.map(async (send) => {
      await pause(Math.random() * ms);
      return send();
    }),
  );

/** Every answer is one of these. */
export function expectOnly(answers: readonly Answer[], allowed: readonly number[]): void {
  const others = answers.filter(({ status }) => !allowed.includes(status));
  expect(others.map(({ status, text }) => `${status} ${text}`)).toEqual([]);
}

export const statuses = (answers: readonly Answer[]) => answers.map(({ status }) => status).toSorted((a, b) => a - b);

export const times = <T>(count: number, make: (index: number) => T): T[] =>
  Array.from({ length: count }, (_, index) => make(index));

export const pick = <T>(from: readonly T[]): T => from[Math.floor(Math.random() * from.length)]!;

/** Up to `most` of them, each once, in a random order. */
export const some = <T>(from: readonly T[], most: number): T[] => {
  const rest = [...from];
  const count = 1 + Math.floor(Math.random() * most);
  return Array.from({ length: Math.min(count, rest.length) }, () => rest.splice(Math.floor(Math.random() * rest.length), 1)[0]!);
};

export const readTask = async (world: World, task_id: string) =>
  (await world.db.select().from(tasks).where(eq(tasks.id, task_id)))[0];

/** Tasks of a board that are worked on or given to somebody although they wait for another; those set to blocked may be. */
export async function worksInVain(world: World, board_id: string): Promise<string[]> {
  const found = await world.db.execute(sql`
    select task.title || ' ' || task.status || ' ' || coalesce(task.assigned_agent_id::text, '') as what from tasks as task
    where task.board_id = ${board_id} and task.status not in ('done', 'blocked')
      and (task.status in ('in_progress', 'review') or task.assigned_agent_id is not null)
      and exists (select 1 from task_dependencies as link join tasks as other on other.id = link.depends_on_task_id
        where link.task_id = task.id and other.status <> 'done')`);
  return rowsOf<{ what: string }>(found).map(({ what }) => what);
}

/** Tasks of a board that wait for themselves. */
export async function circles(world: World, board_id: string): Promise<string[]> {
  const found = await world.db.execute(sql`
    with recursive walked(start, id) as (
      select task_id, depends_on_task_id from task_dependencies where board_id = ${board_id}
      union select walked.start, link.depends_on_task_id
        from walked join task_dependencies as link on link.task_id = walked.id)
    select start from walked where start = id`);
  return rowsOf<{ start: string }>(found).map(({ start }) => start);
}

/** The statuses through which a task went by its recorded moves, each as `from>to`, oldest first. */
export async function movesOf(world: World, task_id: string): Promise<string[]> {
  const rows = await world.db
    .select()
    .from(task_transitions)
    .where(eq(task_transitions.task_id, task_id))
    .orderBy(asc(task_transitions.at));
  return rows.map(({ from_status, to_status }) => `${from_status}>${to_status}`);
}

/**
 * How often a task was finished, and how often of these without an approval that was granted since it was last reopened.
 * Told by the events of its moves and decisions, which are in the order in which they held the task.
 */
export async function finishesOf(world: World, task_id: string): Promise<{ all: number; unapproved: number }> {
  const events = await world.db
    .select()
    .from(activity_events)
    .where(eq(activity_events.task_id, task_id))
    .orderBy(asc(activity_events.seq));
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

/** How often the server had to end a transaction because several waited for each other in a circle. */
export async function deadlocks(world: World): Promise<number> {
  const found = await world.db.execute(
    sql`select deadlocks::int as total from pg_stat_database where datname = current_database()`,
  );
  return rowsOf<{ total: number }>(found)[0]!.total;
}
