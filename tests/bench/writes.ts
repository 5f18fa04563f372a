/**
 * `npm run bench:writes [-- --save]` lists what each write writes: rows, index entries and the time of triggers, of the request
 * and of the jobs after it. The counts come from PostgreSQL's log (pg_walinspect), so that they are exact and need no quiet
 * machine.
 */
import { writeFileSync } from "node:fs";
import path from "node:path";
import { rowsOf } from "@board/core/db/database";
import { openPostgres } from "@board/core/db/postgres";
import { silentLog } from "@board/core/values/log";
import { sql } from "drizzle-orm";
import type { Answer } from "../support/http.ts";
import { startPostgres } from "../support/postgres.ts";
import { openPullBoard, type PullBoard } from "../support/pull-board.ts";
import { createWorld, type World } from "../support/world.ts";
import { describeRun } from "./report.ts";

const FILE = path.resolve(import.meta.dirname, "../../docs/writes.md");
const REPEATS = 20;
const INTRODUCTION = `# What a write writes

\`npm run bench:writes -- --save\` writes this page. One request is one write; its numbers are the mean of ${REPEATS} requests, read
from PostgreSQL's log with \`pg_walinspect\`. "hot" counts updates that leave the indexes unchanged, and "locks" counts locked rows (a
row to which a foreign key points is locked too). Bytes are the bytes of the log without images of whole pages. The time of a
trigger does not include triggers that it fires.
`;
const WARM_UPS = 10;

interface LoggedChange {
  relation: string;
  table: string;
  is_index: boolean;
  type: string;
  count: number;
}

interface Trigger {
  name: string;
  calls: number;
  self_ms: number;
}

interface Written {
  bytes: number;
  changes: LoggedChange[];
  triggers: Trigger[];
}

interface Operation {
  what: string;
  /** Requests that only prepare the write; they are not counted. */
  before?: (n: number) => Promise<unknown>;
  write: (n: number) => Promise<Answer>;
}

const KINDS: Record<string, string> = {
  INSERT: "inserted",
  "INSERT+INIT": "inserted",
  MULTI_INSERT: "inserted",
  "MULTI_INSERT+INIT": "inserted",
  UPDATE: "updated",
  "UPDATE+INIT": "updated",
  HOT_UPDATE: "hot",
  "HOT_UPDATE+INIT": "hot",
  DELETE: "deleted",
  LOCK: "locks",
};

const TEXT = "Words of usual length, ".repeat(8);

function operationsOf(world: World, { owner, worker, board_id, call, addTask }: PullBoard, hook: string): Operation[] {
  const all = `/api/v1/boards/${board_id}/tasks`;
  const own = `/api/v1/agent/boards/${board_id}`;
  let task = "";
  let fence = 0;
  const asWorker = (method: string, target: string, body?: object) =>
    world.call(method, target, { agent: worker.token, body, ...(fence > 0 && { headers: { "x-task-fence": String(fence) } }) });
  const make = async () => {
    fence = 0;
    task = await addTask({ description: TEXT });
  };
  // Otherwise an agent would get the task that it already holds.
  const makeOnly = async () => {
    await world.db.execute(sql`delete from tasks where board_id = ${board_id}`);
    await make();
  };
  const take = async () => {
    task = await addTask({ assigned_agent_id: worker.id });
    fence = 0;
    ({ fence } = (await asWorker("PUT", `${own}/tasks/${task}/lease`, { lease_seconds: 600 })).body);
  };
  return [
    { what: "create a task", write: () => call("POST", all, owner.token, { title: "Task", description: TEXT }) },
    {
      what: "create a task with a key",
      write: (n) =>
        world.call("POST", all, {
          token: owner.token,
          headers: { "idempotency-key": `key-${n}-${Date.now()}` },
          body: { title: "Task" },
        }),
    },
    {
      what: "change a task's priority",
      before: make,
      write: (n) => call("PATCH", `${all}/${task}`, owner.token, { priority: `p${n}` }),
    },
    {
      what: "change a task's description",
      before: make,
      write: (n) => call("PATCH", `${all}/${task}`, owner.token, { description: `${TEXT}${n}` }),
    },
    { what: "move a task", before: make, write: () => call("PATCH", `${all}/${task}`, owner.token, { status: "in_progress" }) },
    { what: "delete a task", before: make, write: () => call("DELETE", `${all}/${task}`, owner.token) },
    {
      what: "comment on a task",
      before: make,
      write: () => call("POST", `${all}/${task}/comments`, owner.token, { message: TEXT }),
    },
    {
      what: "take the next task",
      before: makeOnly,
      write: () => asWorker("POST", "/api/v1/agent/tasks/next", { lease_seconds: 600 }),
    },
    { what: "renew a lease", before: take, write: () => asWorker("PUT", `${own}/tasks/${task}/lease`, { lease_seconds: 600 }) },
    {
      what: "submit for review",
      before: take,
      write: () => asWorker("PATCH", `${own}/tasks/${task}`, { status: "review", comment: TEXT }),
    },
    { what: "heartbeat of an agent", write: () => asWorker("POST", "/api/v1/agent/heartbeat", { name: "Worker" }) },
    {
      what: "write to the memory",
      write: () => call("POST", `/api/v1/boards/${board_id}/memory`, owner.token, { content: TEXT, tags: ["facts"] }),
    },
    {
      what: "request an approval",
      before: make,
      write: () =>
        asWorker("POST", `${own}/approvals`, { action_type: "deploy", description: TEXT, confidence: 50, task_ids: [task] }),
    },
    { what: "receive a webhook", write: (n) => world.call("POST", hook, { body: { n, text: TEXT } }) },
  ];
}

async function main(): Promise<void> {
  const postgres = await startPostgres({
    wal_level: "replica",
    max_wal_senders: "0",
    max_wal_size: "1GB",
    track_functions: "pl",
    autovacuum: "off",
    synchronous_commit: "on",
  });
  // PostgreSQL sends statistics per session. With a single connection, the bench can send them before it reads them.
  const database = openPostgres(await postgres.createDatabase("writes"), { max: 1, log: silentLog });
  await database.migrate();
  const world = await createWorld({ database });
  try {
    await world.db.execute(sql`create extension pg_walinspect`);
    const board = await openPullBoard(world, "Writes");
    const webhook = await board.call("POST", `/api/v1/boards/${board.board_id}/webhooks`, board.owner.token, {
      description: "Read it",
    });
    const described = describeRun();
    const parts: string[] = [];
    for (const { what, before, write } of operationsOf(world, board, webhook.body.endpoint_path)) {
      const request = emptyTotal();
      const jobs = emptyTotal();
      for (let n = 0; n < WARM_UPS + REPEATS; n++) {
        await before?.(n);
        await world.drain();
        const counted = n >= WARM_UPS;
        await measure(world, counted ? request : null, async () => {
          const answer = await write(n);
          if (answer.status >= 300) throw new Error(`${what}: ${answer.status} ${answer.text}`);
        });
        await measure(world, counted ? jobs : null, () => world.drain());
      }
      parts.push(describe(what, request, jobs));
      console.log(parts.at(-1));
    }
    if (process.argv.includes("--save")) writeFileSync(FILE, `${[INTRODUCTION, described, "", ...parts].join("\n").trimEnd()}\n`);
  } finally {
    await world.close();
    await database.close();
    await postgres.stop();
  }
}

const emptyTotal = (): Written => ({ bytes: 0, changes: [], triggers: [] });

/** Runs some work and adds what it writes to the total. */
async function measure({ db }: World, total: Written | null, work: () => Promise<unknown>): Promise<void> {
  const place = async () => {
    await db.execute(sql`select pg_stat_force_next_flush()`);
    const [found] = rowsOf<{ lsn: string }>(await db.execute(sql`select pg_current_wal_insert_lsn()::text as lsn`));
    return { lsn: found!.lsn, triggers: await readTriggers(db) };
  };
  const start = await place();
  await work();
  const end = await place();
  if (!total || start.lsn === end.lsn) return;
  const changes = rowsOf<LoggedChange & { bytes: number }>(
    await db.execute(sql`
      with logged as (
        select distinct on (start_lsn) * from pg_get_wal_block_info(${start.lsn}::pg_lsn, ${end.lsn}::pg_lsn)
        where relforknumber = 0 and resource_manager <> 'XLOG' order by start_lsn, block_id)
      select relation.relname as relation, coalesce(owner.relname, base.relname, relation.relname) as "table",
        relation.relkind = 'i' as is_index, record_type as type, count(*)::int as count
      from logged join pg_class relation on pg_relation_filenode(relation.oid) = logged.relfilenode
        left join pg_index on indexrelid = relation.oid left join pg_class base on base.oid = indrelid
        left join pg_class owner on owner.reltoastrelid = coalesce(base.oid, relation.oid)
      group by 1, 2, 3, 4`),
  );
  const [size] = rowsOf<{ bytes: number }>(
    await db.execute(sql`select coalesce(sum(record_length - fpi_length), 0)::int as bytes
      from pg_get_wal_records_info(${start.lsn}::pg_lsn, ${end.lsn}::pg_lsn)`),
  );
  total.bytes += size!.bytes;
  for (const change of changes) add(total.changes, change, ({ relation, type }) => `${relation} ${type}`);
  for (const [name, after] of end.triggers) {
    const earlier = start.triggers.get(name) ?? { calls: 0, self_ms: 0 };
    const calls = after.calls - earlier.calls;
    if (calls > 0) add(total.triggers, { name, calls, self_ms: after.self_ms - earlier.self_ms }, (trigger) => trigger.name);
  }
}

function add<T extends object>(rows: T[], row: T, key: (row: T) => string): void {
  const known = rows.find((other) => key(other) === key(row)) as Record<string, unknown> | undefined;
  if (!known) return void rows.push({ ...row });
  for (const [name, value] of Object.entries(row)) if (typeof value === "number") known[name] = (known[name] as number) + value;
}

async function readTriggers(db: World["db"]): Promise<Map<string, Trigger>> {
  const found = rowsOf<Trigger>(
    await db.execute(sql`select funcname as name, calls::int as calls, self_time as self_ms from pg_stat_user_functions`),
  );
  return new Map(found.map((trigger) => [trigger.name, trigger]));
}

const mean = (count: number): string => (count / REPEATS).toFixed(1).replace(/\.0$/, "");

function describe(what: string, request: Written, jobs: Written): string {
  const lines = [`## ${what}`, "", "| | Table | Rows | Index entries |", "| --- | --- | --- | --- |"];
  for (const [name, { changes }] of [
    ["request", request],
    ["jobs", jobs],
  ] as const)
    for (const table of new Set(changes.map((change) => change.table)).values()) {
      const rows = new Map<string, number>();
      const indexes = new Map<string, number>();
      for (const { table: of, relation, is_index, type, count } of changes) {
        if (of !== table) continue;
        if (!is_index && KINDS[type]) rows.set(KINDS[type], (rows.get(KINDS[type]) ?? 0) + count);
        if (is_index && /^(INSERT|SPLIT|UPDATE_META)/.test(type)) indexes.set(relation, (indexes.get(relation) ?? 0) + count);
      }
      const written = [...rows].map(([kind, count]) => `${mean(count)} ${kind}`).join(", ");
      const entries = [...indexes.values()].reduce((sum, count) => sum + count, 0);
      if (written || entries)
        lines.push(`| ${name} | ${table} | ${written} | ${entries ? `${mean(entries)} in ${indexes.size}` : ""} |`);
    }
  for (const [name, { bytes, triggers }] of [
    ["Request", request],
    ["Jobs", jobs],
  ] as const) {
    if (bytes === 0) continue;
    const fired = triggers
      .toSorted((one, other) => other.self_ms - one.self_ms)
      .map(({ name: trigger, calls, self_ms }) => `${trigger} ${mean(calls)} × (${((self_ms / REPEATS) * 1_000).toFixed(0)} µs)`);
    lines.push("", `${name}: ${mean(bytes)} bytes of log${fired.length > 0 ? `; triggers: ${fired.join(", ")}` : ""}.`);
  }
  return `${lines.join("\n")}\n`;
}

await main();
