import { type Database, rowsOf } from "@board/core/db/database";
import { openPostgres } from "@board/core/db/postgres";
import { silent } from "@board/core/log";
import { type FakeGateway, startFakeGateway } from "@board/local/fake-gateway/server";
import { sql } from "drizzle-orm";
import { type Postgres, startPostgres } from "../support/postgres.ts";
import { type Figures, load } from "./load.ts";
import { type Service, startService } from "./service.ts";

export const CONNECTIONS = 8;
const TOKEN = "test-token-123";
/** Requests that are sent one by one to count their statements. */
const COUNTED = 20;
const FLAGS = { shared_preload_libraries: "pg_stat_statements", "pg_stat_statements.max": "10000" };

interface Made {
  id: string;
}
export type Api = <T = Made>(method: string, path: string, body?: object) => Promise<T>;
type Headers = Record<string, string>;

/** The service in a process of its own on a real PostgreSQL, with one board, its lead and a webhook, and a stand-in for the host. */
export interface Place {
  postgres: Postgres;
  db: Database["db"];
  host: FakeGateway;
  service: Service;
  /** Of the one person there is. */
  authorization: string;
  gateway: Made;
  board: Made;
  lead: Made & { auth_token: string };
  webhook: { endpoint_path: string };
  api: Api;
  /** Ordinary reads from as many connections as usual. */
  get: (path: string, headers: Headers, requests?: number) => Promise<Figures>;
  /** What is reached without any work, as a baseline, with the ratio to it. */
  against: (figures: Figures) => { baseline: string; ratio: string };
  /** How many statements one request makes, with all that follows from it. */
  count: (one: (n: number) => Promise<unknown>) => Promise<string>;
  /** Another process of the service on the same database, with other settings. */
  startOther: (settings: Headers) => Promise<Service>;
  /** Waits until no job is left. */
  quiet: () => Promise<void>;
  close(): Promise<void>;
}

export async function openPlace(): Promise<Place> {
  const postgres = await startPostgres(FLAGS);
  const database = openPostgres(await postgres.createDatabase("bench"), { log: silent });
  await database.migrate();
  const { db } = database;
  await db.execute(sql`create extension pg_stat_statements`);
  const host = await startFakeGateway({ token: TOKEN });
  const settings = { DATABASE_URL: postgres.url("bench") };
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
  const quiet = async () => {
    for (;;) {
      const left = await db.execute(sql`select count(*)::int as count from jobs where status in ('queued', 'running')`);
      if (rowsOf<{ count: number }>(left)[0]!.count === 0) return;
      await new Promise((resolve) => setTimeout(resolve, 100));
    }
  };

  const gateway = await api("POST", "/api/v1/gateways", {
    name: "Bench",
    url: host.url,
    workspace_root: "/srv",
    token: TOKEN,
  });
  const board = await api("POST", "/api/v1/boards", { name: "Bench", description: "Bench", gateway_id: gateway.id });
  const lead = await api<Place["lead"]>("POST", "/api/v1/agents", { name: "Lead", board_id: board.id, is_board_lead: true });
  const webhook = await api<Place["webhook"]>("POST", `/api/v1/boards/${board.id}/webhooks`, { description: "Bench" });
  await get("/health", {}, 2_000);
  const floor = await get("/health", {});

  return {
    postgres,
    db,
    host,
    service,
    authorization,
    gateway,
    board,
    lead,
    webhook,
    api,
    get,
    against: ({ per_second }) => ({
      baseline: `GET /health ${floor.per_second.toFixed(0)}/s`,
      ratio: `${(per_second / floor.per_second).toFixed(2)}x`,
    }),
    async count(one) {
      await quiet();
      await one(0);
      await quiet();
      await db.execute(sql`select pg_stat_statements_reset()`);
      for (let n = 1; n <= COUNTED; n++) await one(n);
      // Not by `quiet`: its own looks would be counted.
      await new Promise((resolve) => setTimeout(resolve, 500));
      const found = await db.execute(sql`select sum(calls)::int as calls from pg_stat_statements
        where query not like '%pg_stat_statements%' and query !~* '^(begin|commit|rollback)' and dbid = (select oid from pg_database where datname = current_database())`);
      return (rowsOf<{ calls: number }>(found)[0]!.calls / COUNTED).toFixed(1).replace(/\.0$/, "");
    },
    startOther: (other) => startService({ ...settings, ...other }),
    quiet,
    async close() {
      await service.stop();
      await host.close();
      await database.close();
      await postgres.stop();
    },
  };
}
