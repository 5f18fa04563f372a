import { agents, tasks } from "@board/core/schema/all-tables";
import { sql } from "drizzle-orm";
import type { BenchEnvironment } from "./environment.ts";
import { CONNECTIONS } from "./environment.ts";
import { load } from "./load.ts";
import { rate, type Row } from "./row.ts";

const FEW = 10;
const MANY = 100_000;
const PER_BOARD = 50;
const INBOX = "/api/v1/agent/inbox";

/** Compares the inbox with the read of an agent's own identity, among few and among many agents with a task in review each. */
export async function benchInbox(place: BenchEnvironment): Promise<Row[]> {
  const { api, db, get, count, compareToBaseline, compareToFloor, service, board } = place;
  await api("PATCH", `/api/v1/boards/${board.id}`, { max_agents: 100 });
  const worker = await api<{ id: string; auth_token: string }>("POST", "/api/v1/agents", { name: "Worker", board_id: board.id });
  const headers = { "x-agent-token": worker.auth_token };
  const rows: Row[] = [];
  const measure = async (what: string, path: string, more: Record<string, string> = {}, status = 200) => {
    const all = { ...headers, ...more };
    const read = (requests: number) =>
      load({ url: service.url + path, headers: all, connections: CONNECTIONS, requests, status });
    await read(500);
    const figures = await read(4_000);
    const answers: string[] = [];
    const request = async () => answers.push(await (await fetch(service.url + path, { headers: all })).text());
    const floor = await compareToFloor(figures, request);
    const statements = await count(request);
    const named = `${what}, ${Buffer.byteLength(answers.at(-1)!)} bytes`;
    rows.push({ what: named, figure: rate(figures), target: "", ...compareToBaseline(figures), ...floor, statements });
  };
  await get("/api/v1/agent/healthz", headers, 500);
  for (const total of [FEW, MANY]) {
    await fill(place, total);
    const among = `${total.toLocaleString("en")} agents`;
    await measure(`an agent's identity, ${among}`, "/api/v1/agent/healthz");
    await measure(`idle inbox, ${among}`, INBOX);
    const tag = (await fetch(service.url + INBOX, { headers })).headers.get("etag")!;
    await measure(`idle inbox, unchanged (304), ${among}`, INBOX, { "if-none-match": tag }, 304);
  }
  await db.insert(tasks).values({ board_id: board.id, title: "Free" });
  await measure("inbox with a free task", INBOX);
  await db.delete(tasks);
  await db.delete(agents).where(sql`${agents.name} like 'Bench agent %'`);
  await db.execute(sql`delete from boards where slug like 'inbox-%'`);
  return rows;
}

/** Adds agents, fifty on each board. Each has a task in review, which its inbox must skip. */
async function fill({ db, board }: BenchEnvironment, total: number): Promise<void> {
  const boards = Math.ceil(total / PER_BOARD);
  await db.execute(sql`insert into boards (organization_id, gateway_id, name, slug, description)
    select organization_id, gateway_id, 'Inbox ' || n, 'inbox-' || ${total}::int || '-' || n, 'Bench'
    from boards, generate_series(1, ${boards}::int) as n where boards.id = ${board.id}`);
  await db.execute(sql`insert into agents (board_id, gateway_id, name, status, openclaw_session_id)
    select boards.id, boards.gateway_id, 'Bench agent ' || n, 'online', 'agent:bench-' || boards.id || '-' || n || ':main'
    from boards, generate_series(1, ${Math.min(PER_BOARD, total)}::int) as n where slug like 'inbox-' || ${total}::int || '-%'`);
  await db.execute(sql`insert into tasks (board_id, title, status, assigned_agent_id)
    select board_id, 'Reviewed', 'review', id from agents where name like 'Bench agent %'
      and not exists (select 1 from tasks where assigned_agent_id = agents.id)`);
  await db.execute(sql`vacuum analyze`);
}
