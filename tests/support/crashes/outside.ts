/**
 * What is around the processes of the service and survives them: the database, the host, the queue, and the agents that
 * wake up when their host tells them to. One process at a time does everything, so that it dies at the same moments each time.
 */
import type { Db } from "@board/core/context";
import { type Database, rowsOf } from "@board/core/db/database";
import { openPostgres } from "@board/core/db/postgres";
import { hostAgentId } from "@board/core/agent/host";
import type { JobRow, WakeUp } from "@board/core/job/job";
import { silent } from "@board/core/log";
import type { ScheduleName } from "@board/core/schedule";
import { readTokenLine } from "@board/core/template/token-line";
import { sql } from "drizzle-orm";
import type { FakeGateway } from "../../../packages/local/src/fake-gateway/server.ts";
import { type Answer, call, type CallOptions } from "../http.ts";
import type { KillAt } from "./points.ts";
import type { Process } from "./processes.ts";
import type { Reply } from "./service.ts";

/** Of the one user in local mode. */
export const OWNER = "a-token-of-fifty-characters-that-nobody-else-has-got";
export const HOST_TOKEN = "test-token-123";

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

const WOKEN = "your workspace was";
/** More than any of the scenarios needs. */
const MOST_ROUNDS = 200;

export interface Outside {
  readonly db: Db;
  readonly host: FakeGateway;
  /** What the queue holds: it takes everything, and hands out the message that is due first. */
  queue: (WakeUp & { due_ms: number })[];
  /** By how much the clock of the service is ahead. */
  ahead_ms: number;
  /** Unexpected errors that processes spoke of. */
  readonly errors: string[];
  /** Has a process of the service do everything from now on. */
  employ(process: Process, kill_at: KillAt): Promise<void>;
  request(method: string, path: string, options?: CallOptions): Promise<Answer>;
  /** The same, for what must succeed; returns the body. */
  create<Body extends object>(path: string, body: object): Promise<Body>;
  schedule(name: ScheduleName): Promise<void>;
  /** Agents that were woken tell that they are there. */
  checkIn(): Promise<void>;
  /** Works off the queue, with what is delayed in it: the clock goes on, and agents that were woken check in. */
  settle(): Promise<void>;
  elapse(ms: number): Promise<void>;
  /** Jobs that are neither done nor dead. */
  live(): Promise<JobRow[]>;
  rows<Row>(statement: string): Promise<Row[]>;
  /** The token that an agent finds among its files. */
  tokenOnHost(session_key: string): string | null;
  close(): Promise<void>;
}

export function surround(url: string, host: FakeGateway): Outside {
  const database: Database = openPostgres(url, { max: 1, log: silent });
  const { db } = database;
  /** Messages that need no answer any more. */
  const heard = new Set(host.messages);
  let employed: Process;

  const take = (wakeUps: WakeUp[]) => {
    for (const one of wakeUps) outside.queue.push({ ...one, due_ms: outside.ahead_ms + one.delay_seconds * 1000 });
    return { failed: [] };
  };

  const outside: Outside = {
    db,
    host,
    queue: [],
    ahead_ms: 0,
    errors: [],
    async employ(process, kill_at) {
      employed = process;
      const { ahead_ms } = outside;
      await process.begin({ database_url: url, environment: ENVIRONMENT, ahead_ms, kill_at }, take);
    },
    request: (method, path, options = {}) => {
      const send = async (at: string, init: RequestInit) => {
        const headers = init.headers as Record<string, string>;
        const body = (init.body ?? null) as string | null;
        const answer = (await employed.order({ do: "request", method, path: at, headers, body })) as Reply;
        return new Response(answer.text, { status: answer.status, headers: { "content-type": "application/json" } });
      };
      return call(send, method, path, { ...(options.agent ? {} : { token: OWNER }), ...options });
    },
    async create(path, body) {
      const answer = await outside.request("POST", path, { body });
      if (answer.status !== 200) throw new Error(`${path}: ${answer.status} ${answer.text}`);
      return answer.body;
    },
    async schedule(name) {
      await employed.order({ do: "schedule", name });
    },
    async checkIn() {
      for (const message of host.messages) {
        if (heard.has(message) || !message.message.includes(WOKEN)) continue;
        const token = outside.tokenOnHost(message.session_key);
        if (token !== null) await outside.request("POST", "/api/v1/agent/heartbeat", { agent: token });
        heard.add(message);
      }
    },
    async settle() {
      for (let round = 0; outside.queue.length > 0; round++) {
        if (round === MOST_ROUNDS) throw new Error("The queue does not get empty");
        const next = outside.queue.toSorted((one, other) => one.due_ms - other.due_ms)[0]!;
        if (next.due_ms > outside.ahead_ms) await outside.elapse(next.due_ms - outside.ahead_ms);
        // What nobody has answered for stays.
        const done = await employed.order({ do: "wake", job_id: next.id });
        if (done) outside.queue.splice(outside.queue.indexOf(next), 1);
        await outside.checkIn();
      }
      outside.errors.push(...employed.errors.splice(0));
    },
    async elapse(ms) {
      outside.ahead_ms += ms;
      await employed.order({ do: "clock", ahead_ms: outside.ahead_ms });
      // Turns at hosts go by the database's clock.
      await db.execute(sql`update host_turns set held_until = held_until - make_interval(secs => ${ms / 1000}::float8)`);
    },
    live: () => outside.rows<JobRow>("select * from jobs where status in ('queued', 'running')"),
    rows: async <Row>(statement: string) => rowsOf<Row>(await db.execute(sql.raw(statement))),
    tokenOnHost(session_key) {
      const folder = hostAgentId(session_key).replace(/^mc-gateway-/, "gateway-");
      const files = host.host.files.get(`/srv/agents/workspace-${folder}`);
      const text = files?.get("TOOLS.md")?.content ?? files?.get("AGENTS.md")?.content;
      return text === undefined ? null : readTokenLine(text);
    },
    close: () => database.close(),
  };
  return outside;
}
