import { cpus } from "node:os";
import { agents, boards, tag_assignments, task_dependencies, tasks } from "@board/core/db/schema";
import { hashToken, mintToken, tokenLookup, verifyToken } from "@board/core/agent/token";
import { rowsOf } from "@board/core/db/database";
import { openPostgres } from "@board/core/db/postgres";
import { silent } from "@board/core/log";
import { toKey } from "@board/core/seal";
import { startFakeGateway } from "@board/local/fake-gateway/server";
import { sql } from "drizzle-orm";
import { startPostgres } from "../support/postgres.ts";
import { emptyLog, EVENTS, fillLog, measurePlain, narrow } from "./activity.ts";
import { load } from "./load.ts";
import { BOARDS, measureMetrics } from "./metrics.ts";
import { KEYS, startService } from "./service.ts";
import { measureStreams, STREAMS } from "./streams.ts";
import { AGENTS, measureSync } from "./sync.ts";

/** `npm run bench [-- name ...]`: figures of this machine with a baseline from the same run; no figure is a test. */
interface Row {
  what: string;
  figure: string;
  baseline: string;
  ratio: string;
}

const CONNECTIONS = 8;
const postgres = await startPostgres();
const database = openPostgres(await postgres.createDatabase("bench"), { log: silent });
await database.migrate();
const { db } = database;
const host = await startFakeGateway({ token: "test-token-123" });
const service = await startService({ DATABASE_URL: postgres.url("bench") });
const authorization = `Bearer ${service.token}`;

async function api<T = { id: string }>(method: string, path: string, body?: object): Promise<T> {
  const answer = await fetch(service.url + path, {
    method,
    headers: { authorization },
    ...(body ? { body: JSON.stringify(body) } : {}),
  });
  if (!answer.ok) throw new Error(`${method} ${path}: ${answer.status} ${await answer.text()}`);
  return (await answer.json()) as T;
}

const gateway = await api("POST", "/api/v1/gateways", {
  name: "Bench",
  url: host.url,
  workspace_root: "/srv",
  token: "test-token-123",
});
const board = await api("POST", "/api/v1/boards", { name: "Bench", description: "Bench", gateway_id: gateway.id });
const lead = await api<{ id: string; auth_token: string }>("POST", "/api/v1/agents", {
  name: "Lead",
  board_id: board.id,
  is_board_lead: true,
});
const webhook = await api<{ endpoint_path: string }>("POST", `/api/v1/boards/${board.id}/webhooks`, { description: "Bench" });

const round = (value: number) => (value >= 100 ? value.toFixed(0) : value.toFixed(2));
const rate = (figures: { per_second: number; p99_ms: number; failed: number }) =>
  `${round(figures.per_second)}/s, p99 ${round(figures.p99_ms)} ms${figures.failed ? `, ${figures.failed} FAILED` : ""}`;
const get = (path: string, headers: Record<string, string>, requests = 4_000) =>
  load({ url: service.url + path, headers, connections: CONNECTIONS, requests });

/** The floor that HTTP itself sets on this machine. */
await get("/health", {}, 2_000);
const floor = await get("/health", {});
const against = (figures: { per_second: number }) => ({
  baseline: `GET /health ${round(floor.per_second)}/s`,
  ratio: `${(figures.per_second / floor.per_second).toFixed(2)}x`,
});

const benches: Record<string, () => Promise<Row[]>> = {
  /** An authenticated read at growing numbers of agents, against trying every stored hash. */
  async authentication() {
    const stored = await hashToken(mintToken());
    const start = performance.now();
    const tries = 10;
    for (let i = 0; i < tries; i++) await verifyToken("x".repeat(43), stored);
    const scan_ms = (performance.now() - start) / tries;
    const pepper = toKey(KEYS.TOKEN_PEPPER);
    const rows: Row[] = [];
    let present = 2;
    for (const count of [10, 1_000, 100_000]) {
      const missing = Array.from({ length: Math.max(0, count - present) }, () => tokenLookup(pepper, mintToken()));
      for (let at = 0; at < missing.length; at += 10_000)
        await db.execute(sql`insert into ${agents} (gateway_id, board_id, name, agent_token_hash, agent_token_lookup, last_seen_at, status)
          select ${gateway.id}, ${board.id}, 'agent ' || lookup, ${stored}, lookup, now(), 'online' from unnest(${sql.param(missing.slice(at, at + 10_000))}::text[]) as lookup`);
      present = Math.max(present, count);
      await db.execute(sql`analyze ${agents}`);
      const hit = await get("/api/v1/agent/healthz", { "x-agent-token": lead.auth_token });
      const scan = scan_ms * count;
      rows.push({
        what: `agent read at ${count} agents`,
        figure: rate(hit),
        baseline: `PBKDF2 scan, ${scan_ms.toFixed(0)} ms an agent: ${round(scan / 1000)} s a miss`,
        ratio: `${Math.round(scan / hit.p50_ms)}x`,
      });
    }
    await db.delete(agents).where(sql`${agents.name} like 'agent %'`);
    return rows;
  },

  async reads() {
    await db.execute(sql`insert into ${boards} (organization_id, gateway_id, name, slug, description)
      select organization_id, gateway_id, 'Board ' || n, 'board-' || n, 'Bench' from ${boards}, generate_series(1, 500) as n where slug = 'bench'`);
    const list = await get("/api/v1/boards?limit=20", { authorization });
    const own = await get("/api/v1/agent/boards", { "x-agent-token": lead.auth_token });
    await db.delete(boards).where(sql`${boards.slug} like 'board-%'`);
    return [
      { what: "list boards, 20 of 500", figure: rate(list), ...against(list) },
      { what: "agent's boards", figure: rate(own), ...against(own) },
    ];
  },

  /** A board of 5,000 tasks with tags and dependencies: pages of it, and moves of one task after the other. */
  async tasks() {
    const { id: tag } = await api("POST", "/api/tags", { name: "Bench" });
    await db.execute(sql`insert into ${tasks} (board_id, title, created_at)
      select ${board.id}, 'Task ' || n, now() - n * interval '1 minute' from generate_series(1, 5000) as n`);
    await db.execute(sql`insert into ${tag_assignments} (task_id, tag_id, position) select id, ${tag}, 0 from ${tasks}`);
    await db.execute(sql`insert into ${task_dependencies} (board_id, task_id, depends_on_task_id, position)
      select board_id, id, next, 0 from (
        select board_id, id, lead(id) over (order by created_at) as next, row_number() over (order by created_at) as place
        from ${tasks}) as numbered
      where place % 5 = 1 and next is not null`);
    await db.execute(sql`analyze ${tasks}, ${tag_assignments}, ${task_dependencies}`);
    const all = `/api/v1/boards/${board.id}/tasks`;
    const page = await get(`${all}?limit=50`, { authorization }, 2_000);
    const ids = rowsOf<{ id: string }>(
      await db.execute(
        sql`select id from ${tasks} where id not in (select task_id from ${task_dependencies}) order by created_at`,
      ),
    ).map(({ id }) => id);
    const patch = (requests: number, body: (n: number) => object) =>
      load({
        url: service.url,
        method: "PATCH",
        headers: { authorization },
        connections: CONNECTIONS,
        requests,
        nth: (n) => ({ path: `${all}/${ids[n % ids.length]}`, body: JSON.stringify(body(n)) }),
      });
    await patch(200, () => ({ priority: "high" }));
    const priority = await patch(2_000, (n) => ({ priority: `p${n}` }));
    const move = await patch(2_000, () => ({ status: "in_progress" }));
    await db.delete(tasks);
    return [
      { what: "list tasks, 50 of 5,000", figure: rate(page), ...against(page) },
      { what: "patch a task's priority", figure: rate(priority), ...against(priority) },
      { what: "move a task", figure: rate(move), ...against(move) },
    ];
  },

  /** Pages of the activity list, full ones, whose total has to be found. */
  async activity() {
    await fillLog(db, { gateway_id: gateway.id, agent_id: lead.id });
    const plain = await measurePlain(db, CONNECTIONS, 100);
    const page = "/api/v1/activity?limit=50";
    const row = (reader: string, figures: Parameters<typeof rate>[0]): Row => ({
      what: `activity, 50 of ${EVENTS} events, ${reader}`,
      figure: rate(figures),
      baseline: `sort and count at the database, without HTTP: ${round(plain)}/s`,
      ratio: `${(figures.per_second / plain).toFixed(1)}x`,
    });
    await get(page, { authorization }, 500);
    const all = await get(page, { authorization }, 2_000);
    const deep = await get(`${page}&offset=9000`, { authorization }, 500);
    await narrow(db, true);
    const granted = await get(page, { authorization }, 2_000);
    await narrow(db, false);
    const own = await get(page, { "x-agent-token": lead.auth_token }, 2_000);
    await emptyLog(db);
    return [
      row("an owner of all boards", all),
      row("the same at offset 9,000", deep),
      row("rights on 20 boards", granted),
      row("an agent", own),
    ];
  },

  async ingestion() {
    const body = JSON.stringify({
      ref: "refs/heads/main",
      commits: Array.from({ length: 5 }, (_, n) => ({ id: n, message: "x".repeat(100) })),
    });
    const post = (requests: number) =>
      load({
        url: service.url + webhook.endpoint_path,
        method: "POST",
        headers: { "content-type": "application/json" },
        body,
        connections: CONNECTIONS,
        requests,
        status: 202,
      });
    await post(200);
    const figures = await post(5_000);
    return [{ what: "webhook posts accepted while notifying", figure: rate(figures), ...against(figures) }];
  },

  /** From the post to the message at the host, at 100 posts a second. */
  async notification() {
    const quiet = async () => {
      for (;;) {
        const [left] = rowsOf<{ count: number }>(
          await db.execute(sql`select count(*)::int as count from jobs where status in ('queued', 'running')`),
        );
        if (left?.count === 0) return;
        await new Promise((resolve) => setTimeout(resolve, 100));
      }
    };
    await quiet();
    const sentAt = new Map<string, number>();
    const waits: number[] = [];
    const stop = host.onMessage(({ message }) => {
      const start = sentAt.get(/Payload ID: (\S+)/.exec(message)?.[1] ?? "");
      if (start !== undefined) waits.push(performance.now() - start);
    });
    const posts: Promise<void>[] = [];
    for (let n = 0; n < 1_000; n++) {
      const start = performance.now();
      posts.push(
        fetch(service.url + webhook.endpoint_path, { method: "POST", body: `{"n":${n}}` })
          .then((answer) => answer.json())
          .then((answer) => void sentAt.set((answer as { payload_id: string }).payload_id, start)),
      );
      await new Promise((resolve) => setTimeout(resolve, 10));
    }
    await Promise.all(posts);
    await quiet();
    stop();
    waits.sort((a, b) => a - b);
    const at = (share: number) => round(waits[Math.floor((waits.length - 1) * share)] ?? Number.NaN);
    const figure = `p50 ${at(0.5)} ms, p99 ${at(0.99)} ms (${waits.length} of 1000 timed)`;
    return [{ what: "post to notification at 100/s, one agent", figure, baseline: "target p50 1 s, p99 5 s", ratio: "" }];
  },

  /** The dashboard over a day and a month, against plain statements for each of its buckets. */
  async metrics() {
    const place = { url: service.url, authorization, gateway_id: gateway.id, connections: CONNECTIONS };
    const figures = await measureMetrics(db, place);
    return figures.map(({ range, events, transitions, alone, together, plain_ms }) => ({
      what: `dashboard ${range}, ${events} events, ${transitions} moves, ${BOARDS} boards`,
      figure: `${rate(together)}; alone p50 ${round(alone.p50_ms)} ms`,
      baseline: `plain SQL for each bucket ${round(plain_ms)} ms`,
      ratio: `${round(plain_ms / alone.p50_ms)}x`,
    }));
  },

  /** Open comment streams beside plain requests and new comments, against the same without the streams. */
  async streams() {
    const figures = await measureStreams(postgres);
    const state = ({ request_ms, memory_mb, statements_per_second, connections }: (typeof figures)[number]["without"]) =>
      `list boards p50 ${round(request_ms.p50)} ms, p99 ${round(request_ms.p99)} ms; ${round(memory_mb)} MB, ${round(statements_per_second)} statements/s, ${connections} connections at work`;
    return figures.map(({ what, without, with_streams, delay_ms, wrong }) => ({
      what: `${STREAMS} streams ${what}`,
      figure: `${state(with_streams)}; comments received after p50 ${round(delay_ms.p50)} ms, p99 ${round(delay_ms.p99)} ms, ${wrong} lost or doubled`,
      baseline: `none: ${state(without)}`,
      ratio: `p99 ${(with_streams.request_ms.p99 / without.request_ms.p99).toFixed(2)}x`,
    }));
  },

  /** All files of many agents over a slow link, against a socket for every call. */
  async sync() {
    const sync = await measureSync(api, db);
    const seconds = (ms: number) => `${(ms / 1000).toFixed(2)} s`;
    const baseline = `a socket per call, one by one: ${seconds(sync.baseline_ms)}`;
    const shape = `${sync.files_written} files, ${sync.calls} calls, ${sync.sockets} socket, ${sync.patches} config.patch`;
    const row = (what: string, figure: string, ms: number): Row => ({
      what: `${what}, ${AGENTS} leads over 20 ms`,
      figure,
      baseline,
      ratio: `${Math.round(sync.baseline_ms / ms)}x`,
    });
    return [
      row("template sync", `${seconds(sync.ms)} (${shape})`, sync.ms),
      row("the same again", seconds(sync.again_ms), sync.again_ms),
    ];
  },
};

const wanted = process.argv.slice(2);
const unknown = wanted.filter((name) => !(name in benches));
if (unknown.length > 0) throw new Error(`No bench is called ${unknown.join(", ")}; there are ${Object.keys(benches).join(", ")}`);
const table: Row[] = [];
try {
  for (const [name, run] of Object.entries(benches))
    if (wanted.length === 0 || wanted.includes(name)) table.push(...(await run()));
} finally {
  await service.stop();
  await host.close();
  await database.close();
  await postgres.stop();
}
const [cpu] = cpus();
console.log(
  `${cpus().length} x ${cpu?.model}, Node ${process.version}, PostgreSQL on the same machine, ${CONNECTIONS} connections, ${new Date().toISOString().slice(0, 10)}`,
);
console.table(table);
