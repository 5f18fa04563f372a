import { type Database, rowsOf } from "@board/core/db/database";
import { openPostgres } from "@board/core/db/postgres";
import { silentLog } from "@board/core/values/log";
import { type FakeGateway, startFakeGateway } from "../support/fake-gateway/server.ts";
import { type MailServer, startMailServer } from "../support/mail-server.ts";
import { sql } from "drizzle-orm";
import { type Postgres, startPostgres } from "../support/postgres.ts";
import { type FloorRun, RECORDABLE, recordStatements, sendStatements } from "./floor.ts";
import { type Figures, load } from "./load.ts";
import { round } from "./row.ts";
import { type Service, startService } from "./service.ts";

export const CONNECTIONS = 8;
const TOKEN = "test-token-123";
/** The number of requests to send one by one to count their statements. */
export const COUNTED_REQUESTS = 20;
const FLOOR_REQUESTS = 2_000;
const FLAGS = { ...RECORDABLE, shared_preload_libraries: "pg_stat_statements", "pg_stat_statements.max": "10000" };

interface Made {
  id: string;
}
/** A board with its lead and a webhook, on a gateway of the active organization. */
export interface Home {
  gateway: Made;
  board: Made;
  lead: Made & { auth_token: string };
  webhook: { endpoint_path: string };
}
export type Api = <T = Made>(method: string, path: string, body?: object) => Promise<T>;
type Headers = Record<string, string>;

/** The service in a separate process on a PostgreSQL server, with a board, its lead, a webhook and a fake host. */
export interface BenchEnvironment extends Home {
  postgres: Postgres;
  db: Database["db"];
  host: FakeGateway;
  /** The server to which the service sends mail. A person without an address in the profile gets no mail. */
  mail: MailServer;
  service: Service;
  /** The credential of the only person. */
  authorization: string;
  api: Api;
  /** Makes another board in the active organization. */
  createHome: () => Promise<Home>;
  /** Measures reads over the usual number of connections. */
  get: (path: string, headers: Headers, requests?: number) => Promise<Figures>;
  /** Returns the rate of an empty request as the baseline, and the ratio to it. */
  compareToBaseline: (figures: Figures) => { baseline: string; ratio: string };
  /** Measures how often per second the bare driver can send the statements of a request, and returns this floor of the figures. */
  compareToFloor: (figures: Figures, request: () => Promise<unknown>, rows?: FloorRun["rows"]) => Promise<{ floor: string }>;
  /** Counts the statements of one request, including its jobs. */
  count: (one: (n: number) => Promise<unknown>) => Promise<string>;
  /** Starts another process of the service on the same database with other settings. */
  startSecondService: (settings: Headers) => Promise<Service>;
  /** Waits until no jobs are left, except jobs of this kind and jobs that are due later, such as the mail with a digest. */
  waitForJobs: (except?: string) => Promise<void>;
  close(): Promise<void>;
}

export async function openBenchEnvironment(): Promise<BenchEnvironment> {
  const log = { text: "" };
  const postgres = await startPostgres(FLAGS, (text) => void (log.text += text));
  const database = openPostgres(await postgres.createDatabase("bench"), { log: silentLog });
  await database.migrate();
  const { db } = database;
  await db.execute(sql`create extension pg_stat_statements`);
  const host = await startFakeGateway({ token: TOKEN });
  const mail = await startMailServer();
  const settings = { DATABASE_URL: postgres.url("bench"), ...mail.environment };
  const service = await startService(settings);
  const authorization = `Bearer ${service.token}`;

  const api: Api = async <T>(method: string, path: string, body?: object) => {
    const answer = await fetch(service.url + path, {
      method,
      headers: { authorization },
      ...(body ? { body: JSON.stringify(body) } : {}),
    });
    if (!answer.ok) throw new Error(`${method} ${path}: ${answer.status} ${await answer.text()}`);
    return (await answer.json()) as T;
  };
  const get = (path: string, headers: Headers, requests = 4_000) =>
    load({ url: service.url + path, headers, connections: CONNECTIONS, requests });
  const waitForJobs = async (except = "") => {
    for (;;) {
      const left = await db.execute(
        sql`select count(*)::int as count from jobs where status in ('queued', 'running') and kind <> ${except}
          and run_at < now() + interval '5 seconds'`,
      );
      if (rowsOf<{ count: number }>(left)[0]!.count === 0) return;
      await new Promise((resolve) => setTimeout(resolve, 100));
    }
  };

  const createHome = async (): Promise<Home> => {
    const gateway = await api("POST", "/api/v1/gateways", {
      name: "Bench",
      url: host.url,
      workspace_root: "/srv",
      token: TOKEN,
    });
    const board = await api("POST", "/api/v1/boards", { name: "Bench", description: "Bench", gateway_id: gateway.id });
    const lead = await api<Home["lead"]>("POST", "/api/v1/agents", { name: "Lead", board_id: board.id, is_board_lead: true });
    const webhook = await api<Home["webhook"]>("POST", `/api/v1/boards/${board.id}/webhooks`, { description: "Bench" });
    await waitForJobs("agent.wake_check");
    // The checks would wait a minute and a half, since these agents never check in.
    await db.execute(sql`delete from jobs where kind = 'agent.wake_check'`);
    return { gateway, board, lead, webhook };
  };
  const home = await createHome();
  await get("/health", {}, 2_000);
  const floor = await get("/health", {});

  return {
    postgres,
    db,
    host,
    mail,
    service,
    authorization,
    ...home,
    api,
    createHome,
    get,
    compareToBaseline: ({ per_second }) => ({
      baseline: `GET /health ${floor.per_second.toFixed(0)}/s`,
      ratio: `${(per_second / floor.per_second).toFixed(2)}x`,
    }),
    async compareToFloor({ per_second }, request, rows) {
      await waitForJobs();
      const recorded = await recordStatements(db, log, request);
      await waitForJobs();
      const run = { connections: CONNECTIONS, requests: FLOOR_REQUESTS, ...(rows && { rows }) };
      const floor = await sendStatements(postgres.url("bench"), recorded, run);
      // The repeated statements stored jobs without waking a process, so these jobs would only disturb the next figures.
      await db.execute(sql`delete from jobs where status in ('queued', 'running')`);
      return { floor: `${round(floor)}/s, ${(floor / per_second).toFixed(1)} times the figure` };
    },
    async count(one) {
      await waitForJobs();
      await one(0);
      await waitForJobs();
      await db.execute(sql`select pg_stat_statements_reset()`);
      for (let n = 1; n <= COUNTED_REQUESTS; n++) await one(n);
      // This is a plain pause, because the statements of `waitForJobs` would be counted.
      await new Promise((resolve) => setTimeout(resolve, 500));
      const found = await db.execute(sql`select sum(calls)::int as calls from pg_stat_statements
        where query not like '%pg_stat_statements%' and query !~* '^(begin|commit|rollback)' and dbid = (select oid from pg_database where datname = current_database())`);
      return (rowsOf<{ calls: number }>(found)[0]!.calls / COUNTED_REQUESTS).toFixed(1).replace(/\.0$/, "");
    },
    startSecondService: (other) => startService({ ...settings, ...other }),
    waitForJobs,
    async close() {
      await service.stop();
      await host.close();
      await mail.close();
      await database.close();
      await postgres.stop();
    },
  };
}
