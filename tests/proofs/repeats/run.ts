/**
 * Clients that repeat their POSTs until they have an answer, while processes of the service are killed and connections to the
 * database are ended. Every key must have one effect and one answer.
 */
import { setTimeout as pause } from "node:timers/promises";
import { rowsOf } from "@board/core/db/database";
import { sql } from "drizzle-orm";
import { expect } from "vitest";
import { openServerWorld, type ServerWorld } from "../../support/postgres-world.ts";
import { type ServerProcess, startServerProcess } from "../../support/server-process.ts";
import type { Tenant } from "../../support/world.ts";
import { createRandom, pick, type Random } from "../crashes/random.ts";

export interface RepeatsPlan {
  seed: number;
  /** POSTs to send, repetitions and those without an answer included. */
  posts: number;
  clients: number;
  processes: number;
  /** How often a process is killed and a connection is ended, by the number of POSTs between them. */
  posts_per_kill: number;
  posts_per_lost_connection: number;
}

export interface RepeatsFigures extends Record<string, number> {
  seed: number;
  posts: number;
  keys: number;
  replayed: number;
  unanswered: number;
  kills: number;
  lost_connections: number;
}

interface Key {
  key: string;
  path: string;
  token: string;
  body: object;
  /** The distinct answers; there must be exactly one. */
  answers: Set<string>;
}

/** How long a request waits for an answer of a process that dies. */
const TIMEOUT_MS = 20_000;
/** Answers that tell a client to repeat its request. */
const isTemporary = (status: number, retry_after: string | null) => status >= 500 || (status === 409 && retry_after !== null);

export async function runRepeats(plan: RepeatsPlan): Promise<RepeatsFigures> {
  const server = await openServerWorld();
  const { world, url } = server;
  const random = createRandom(plan.seed);
  const figures = { seed: plan.seed, posts: 0, keys: 0, replayed: 0, unanswered: 0, kills: 0, lost_connections: 0 };
  const start = () =>
    startServerProcess({
      issuer: world.identities.issuer,
      environment: { DATABASE_URL: url, LIMITS: "caller_running_requests=0,organization_running_requests=0,running_requests=0" },
    });
  const processes: ServerProcess[] = [];
  try {
    const home = await world.tenant("home");
    await world.db.execute(sql`update boards set max_agents = 100000 where id = ${home.board_id}`);
    processes.push(...(await Promise.all(Array.from({ length: plan.processes }, start))));
    const keys: Key[] = [];
    const disturb = disturbances(server, plan, figures, random, processes, start);
    const client = async () => {
      while (figures.posts < plan.posts) {
        // Half of the time a key that another client may be using at this moment.
        const known = keys.length > 0 && random() < 0.5 ? pick(random, keys.slice(-plan.clients)) : null;
        const one = known ?? createKey(home, random);
        if (!known) keys.push(one);
        await sendUntilAnswered(one, processes, random, figures);
        await disturb();
      }
    };
    await Promise.all(Array.from({ length: plan.clients }, client));
    figures.keys = keys.length;
    await expectOneEffectEach(server, keys);
    return figures;
  } finally {
    await Promise.all(processes.map((process) => process.stop("SIGKILL")));
    await server.close();
  }
}

function createKey(home: Tenant, random: Random): Key {
  const name = `key ${Math.floor(random() * 2 ** 50).toString(36)}`;
  const onBoard = `/api/v1/boards/${home.board_id}`;
  const [path, body] = pick(random, [
    [`${onBoard}/tasks`, { title: name }],
    [`${onBoard}/memory`, { content: name, tags: [] }],
    [`${onBoard}/webhooks`, { description: name }],
    ["/api/v1/tags", { name }],
    ["/api/v1/agents", { name, board_id: home.board_id }],
  ] as const);
  return { key: name, path, token: home.owner.token, body, answers: new Set() };
}

/** Sends a POST, to any process, until one answers for good. */
async function sendUntilAnswered(one: Key, processes: ServerProcess[], random: Random, figures: RepeatsFigures): Promise<void> {
  for (;;) {
    const response = await fetch(`${pick(random, processes).url}${one.path}`, {
      method: "POST",
      headers: { authorization: `Bearer ${one.token}`, "content-type": "application/json", "idempotency-key": one.key },
      body: JSON.stringify(one.body),
      signal: AbortSignal.timeout(TIMEOUT_MS),
    })
      .then(async (answer) => ({ status: answer.status, headers: answer.headers, text: await answer.text() }))
      .catch((error: unknown) => (isRefused(error) ? "refused" : null));
    if (response !== "refused") figures.posts += 1;
    if (response && response !== "refused" && !isTemporary(response.status, response.headers.get("retry-after"))) {
      if (response.headers.has("idempotent-replayed")) figures.replayed += 1;
      // A token is shown once: a repeated answer has null instead.
      one.answers.add(`${response.status} ${response.text.replace(/"auth_token":(?:"[^"]*"|null)/, "")}`);
      return;
    }
    figures.unanswered += 1;
    await pause(20 + random() * 100);
  }
}

/** Whether the process was not there, so that nothing was sent. */
const isRefused = (error: unknown) => ((error as Error).cause as { code?: string } | undefined)?.code === "ECONNREFUSED";

/** Kills a process, or ends the connections of a process that are in a transaction, once so many POSTs were sent. */
function disturbances(
  { world }: ServerWorld,
  plan: RepeatsPlan,
  figures: RepeatsFigures,
  random: Random,
  processes: ServerProcess[],
  start: () => Promise<ServerProcess>,
) {
  let isEnding = false;
  let next_loss = plan.posts_per_lost_connection;
  return async () => {
    if (figures.posts >= (figures.kills + 1) * plan.posts_per_kill) {
      figures.kills += 1;
      const index = Math.floor(random() * processes.length);
      await processes[index]!.stop("SIGKILL");
      // A busy machine may start it too slowly; the clients go on with the other processes.
      processes[index] = await start().catch(start);
    }
    if (!isEnding && figures.posts >= next_loss) {
      isEnding = true;
      next_loss = figures.posts + plan.posts_per_lost_connection;
      const ended = await world.db.execute(sql`
        select pg_terminate_backend(pid) from pg_stat_activity
        where datname = current_database() and pid <> pg_backend_pid() and xact_start is not null`);
      figures.lost_connections += rowsOf(ended).length;
      isEnding = false;
    }
  };
}

async function expectOneEffectEach({ world }: ServerWorld, keys: readonly Key[]): Promise<void> {
  const result = await world.db.execute(sql`
    select name, count(*)::int as count from (
      select title as name from tasks union all select content from board_memory union all select description from board_webhooks
      union all select name from tags union all select name from agents) as effects
    where name like 'key %' group by name`);
  const effects = new Map(rowsOf<{ name: string; count: number }>(result).map(({ name, count }) => [name, count]));
  expect(effects.size).toBe(keys.length);
  for (const { key, answers } of keys) {
    expect([...answers], key).toEqual([expect.stringMatching(/^200 /)]);
    expect(effects.get(key), key).toBe(1);
  }
}
