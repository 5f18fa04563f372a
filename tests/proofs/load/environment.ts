/**
 * The environment that survives the processes of the service: the database, the host, the queue and the agents that wake
 * up on messages. Only one process runs at a time, so that its crash points are the same in every walk.
 */
import type { Db } from "@board/core/context/db";
import { type Database, rowsOf } from "@board/core/db/database";
import { openPostgres } from "@board/core/db/postgres";
import { hostAgentId } from "@board/core/values/session-key";
import type { JobRow } from "@board/core/job/job";
import type { WakeUp } from "@board/core/job/relay";
import { silentLog } from "@board/core/values/log";
import type { ScheduleName } from "@board/api/work/schedules";
import { parseToken } from "@board/openclaw/template/token-line";
import { sql } from "drizzle-orm";
import type { FakeGateway } from "../../support/fake-gateway/server.ts";
import { type Answer, call, type CallOptions } from "../../support/http.ts";
import type { KillAt } from "./crash-points.ts";
import type { Process, ProcessPool } from "./process-pool.ts";
import type { Reply } from "./service.ts";

/** The token of the local user. */
export const OWNER = "a-token-of-fifty-characters-that-nobody-else-has-got";

export const ENVIRONMENT = {
  AUTH_MODE: "local",
  LOCAL_AUTH_TOKEN: OWNER,
  AUTH_FAILURES_PER_MINUTE: "0",
  WEBHOOK_RATE_PER_MINUTE: "0",
  BOARD_EVENTS: "off",
  BASE_URL: "https://board.example",
  ENCRYPTION_KEY: Buffer.alloc(32, 1).toString("base64"),
  TOKEN_PEPPER: Buffer.alloc(32, 2).toString("base64"),
};

const WAKE_UP_TEXT = "your workspace was";
/** More rounds than any scenario needs. */
const MAX_ROUNDS = 200;

export interface ServiceEnvironment {
  readonly db: Db;
  readonly host: FakeGateway;
  /** The messages in the queue. It accepts everything and delivers the message that is due first. */
  queue: (WakeUp & { due_ms: number })[];
  /** How far the clock of the service is ahead. */
  ahead_ms: number;
  /** Unexpected errors that processes reported. */
  readonly errors: string[];
  /** Selects the process that executes everything from now on. */
  useProcess(process: Process, kill_at: KillAt): Promise<void>;
  request(method: string, path: string, options?: CallOptions): Promise<Answer>;
  /** Sends a request that must succeed and returns the body. */
  create<Body extends object>(path: string, body: object): Promise<Body>;
  schedule(name: ScheduleName): Promise<void>;
  /** Sends the heartbeats of agents that were woken. */
  checkIn(): Promise<void>;
  /** Processes the queue, including delayed messages: the clock advances, and woken agents send heartbeats. */
  drainQueue(): Promise<void>;
  elapse(ms: number): Promise<void>;
  /** Returns the jobs that are neither done nor dead. */
  live(): Promise<JobRow[]>;
  rows: <Row>(statement: string) => Promise<Row[]>;
  /** Returns the token in an agent's files. */
  tokenOnHost(session_key: string): string | null;
  close(): Promise<void>;
}

export function createEnvironment(url: string, host: FakeGateway): ServiceEnvironment {
  const database: Database = openPostgres(url, { max: 1, log: silentLog });
  const { db } = database;
  /** Messages that were already answered. */
  const handled = new Set(host.messages);
  let active: Process;

  const take = (wakeUps: WakeUp[]) => {
    for (const wakeUp of wakeUps)
      environment.queue.push({ ...wakeUp, due_ms: environment.ahead_ms + wakeUp.delay_seconds * 1000 });
    return { failed: [] };
  };

  const environment: ServiceEnvironment = {
    db,
    host,
    queue: [],
    ahead_ms: 0,
    errors: [],
    async useProcess(process, kill_at) {
      active = process;
      const { ahead_ms } = environment;
      await process.begin({ database_url: url, environment: ENVIRONMENT, ahead_ms, kill_at }, take);
    },
    request: (method, path, options = {}) => {
      const send = async (at: string, init: RequestInit) => {
        const headers = init.headers as Record<string, string>;
        const body = (init.body ?? null) as string | null;
        const answer = (await active.order({ do: "request", method, path: at, headers, body })) as Reply;
        return new Response(answer.text, answer);
      };
      return call(send, method, path, { ...(options.agent ? {} : { token: OWNER }), ...options });
    },
    async create(path, body) {
      const answer = await environment.request("POST", path, { body });
      if (answer.status !== 200) throw new Error(`${path}: ${answer.status} ${answer.text}`);
      return answer.body;
    },
    async schedule(name) {
      await active.order({ do: "schedule", name });
    },
    async checkIn() {
      for (const message of host.messages) {
        if (handled.has(message) || !message.message.includes(WAKE_UP_TEXT)) continue;
        const token = environment.tokenOnHost(message.session_key);
        if (token !== null) await environment.request("POST", "/api/v1/agent/heartbeat", { agent: token });
        handled.add(message);
      }
    },
    async drainQueue() {
      for (let round = 0; environment.queue.length > 0; round++) {
        if (round === MAX_ROUNDS) throw new Error("The queue does not become empty");
        const next = environment.queue.toSorted((a, b) => a.due_ms - b.due_ms)[0]!;
        if (next.due_ms > environment.ahead_ms) await environment.elapse(next.due_ms - environment.ahead_ms);
        // A message stays in the queue until it was processed.
        const done = await active.order({ do: "wake", job_id: next.id });
        if (done) environment.queue.splice(environment.queue.indexOf(next), 1);
        await environment.checkIn();
      }
      environment.errors.push(...active.errors.splice(0));
    },
    async elapse(ms) {
      environment.ahead_ms += ms;
      await active.order({ do: "clock", ahead_ms: environment.ahead_ms });
      // Config locks of hosts use the clock of the database.
      await db.execute(sql`update host_turns set held_until = held_until - make_interval(secs => ${ms / 1000}::float8)`);
    },
    live: () => environment.rows<JobRow>("select * from jobs where status in ('queued', 'running')"),
    rows: async <Row>(statement: string) => rowsOf<Row>(await db.execute(sql.raw(statement))),
    tokenOnHost(session_key) {
      const folder = hostAgentId(session_key).replace(/^mc-gateway-/, "gateway-");
      const files = host.host.files.get(`/srv/agents/workspace-${folder}`);
      const text = files?.get("TOOLS.md")?.content ?? files?.get("AGENTS.md")?.content;
      return text === undefined ? null : parseToken(text);
    },
    close: () => database.close(),
  };
  return environment;
}

/** Executes `work` in a process that is not killed. */
export async function inProcess<T>(crew: ProcessPool, outside: ServiceEnvironment, work: () => Promise<T>): Promise<T> {
  const process = await crew.take();
  await outside.useProcess(process, null);
  const result = await work();
  await crew.release(process);
  return result;
}
