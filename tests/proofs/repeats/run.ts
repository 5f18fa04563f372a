/**
 * Clients that repeat their POSTs until they have an answer, while processes of the service are killed and connections to the
 * database are ended. Every key must have one effect and one answer.
 */
import { expect } from "vitest";
import { OWNER, type ServiceEnvironment } from "../load/environment.ts";
import { type FleetPlan, type FleetRun, runFleet, type Send } from "../load/fleet-run.ts";
import type { ProcessPool } from "../load/process-pool.ts";
import { createRandom, pick, type Random } from "../load/random.ts";

export interface RepeatsPlan extends FleetPlan {
  /** POSTs to send until they are answered. */
  posts: number;
  /** The number of POSTs after which all connections that are in a transaction are ended. */
  posts_per_lost_connection: number;
}

export interface RepeatsFigures extends Record<string, number | string> {
  keys: number;
  replayed: number;
  kills: number;
  lost_connections: number;
}

interface Key {
  key: string;
  path: string;
  body: object;
  /** The distinct answers; there must be exactly one. */
  answers: Set<string>;
}

export async function runRepeats(crew: ProcessPool, plan: RepeatsPlan): Promise<RepeatsFigures> {
  const random = createRandom(plan.seed);
  const keys: Key[] = [];
  let posts = 0;
  let replayed = 0;
  let lost_connections = 0;

  /** Sends a POST to any process, again and again until one gives a final answer. */
  async function post(send: Send, { key, path, body, answers }: Key): Promise<void> {
    const headers = { authorization: `Bearer ${OWNER}`, "idempotency-key": key };
    let reply = await send({ method: "POST", path, headers, body });
    while (reply === null) reply = await send({ method: "POST", path, headers, body });
    if ("idempotent-replayed" in reply.headers) replayed += 1;
    // A token is shown once: a repeated answer has null instead.
    answers.add(`${reply.status} ${reply.text.replace(/"auth_token":(?:"[^"]*"|null)/, "")}`);
  }

  async function endConnections({ rows }: ServiceEnvironment): Promise<void> {
    const ended = await rows(`select pg_terminate_backend(pid) from pg_stat_activity
      where datname = current_database() and pid <> pg_backend_pid() and xact_start is not null`);
    lost_connections += ended.length;
  }

  const work = {
    random,
    times: plan.posts,
    seed: createBoard,
    async act(send: Send, board_id: string, outside: ServiceEnvironment) {
      // Half of the time, the key is one that another client may be using at this moment.
      const known = keys.length > 0 && random() < 0.5 ? pick(random, keys.slice(-plan.clients)) : null;
      const one = known ?? createKey(board_id, random);
      if (!known) keys.push(one);
      await post(send, one);
      if (++posts % plan.posts_per_lost_connection === 0) await endConnections(outside);
    },
  };
  return runFleet(crew, plan, work, async ({ rows, kills, figures }) => {
    await expectOneEffectEach(rows, keys);
    return { posts, ...figures, keys: keys.length, replayed, kills, lost_connections };
  });
}

/** Creates a board without a host, whose agents need no provisioning, and returns its id. */
async function createBoard(outside: ServiceEnvironment): Promise<string> {
  const board = { name: "Home", description: "A board", gateway: "pull" };
  const { id } = await outside.create<{ id: string }>("/api/v1/boards", board);
  await outside.rows(`update boards set max_agents = 100000 where id = '${id}'`);
  return id;
}

function createKey(board_id: string, random: Random): Key {
  const name = `key ${Math.floor(random() * 2 ** 50).toString(36)}`;
  const onBoard = `/api/v1/boards/${board_id}`;
  const [path, body] = pick(random, [
    [`${onBoard}/tasks`, { title: name }],
    [`${onBoard}/memory`, { content: name, tags: [] }],
    [`${onBoard}/webhooks`, { description: name }],
    ["/api/v1/tags", { name }],
    ["/api/v1/agents", { name, board_id }],
  ] as const);
  return { key: name, path, body, answers: new Set() };
}

async function expectOneEffectEach(rows: FleetRun<unknown>["rows"], keys: readonly Key[]): Promise<void> {
  const found = await rows<{ name: string; count: number }>(`
    select name, count(*)::int as count from (
      select title as name from tasks union all select content from board_memory union all select description from board_webhooks
      union all select name from tags union all select name from agents) as effects
    where name like 'key %' group by name`);
  const effects = new Map(found.map(({ name, count }) => [name, count]));
  expect(effects.size).toBe(keys.length);
  for (const { key, answers } of keys) {
    expect([...answers], key).toEqual([expect.stringMatching(/^200 /)]);
    expect(effects.get(key), key).toBe(1);
  }
}
