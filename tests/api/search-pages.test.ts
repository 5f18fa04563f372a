import { rowsOf } from "@board/core/db/database";
import { openPostgres } from "@board/core/db/postgres";
import { silentLog } from "@board/core/values/log";
import { sql } from "drizzle-orm";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { onLambda } from "../support/target.ts";
import { copyTemplate } from "../support/test-database.ts";
import { createWorld, type Tenant } from "../support/world.ts";

const COUNT = 2_000;
const OTHER_COUNT = 20_000;
/** A search sorts at most this many of the rows that it finds. If it finds more, it reads at most this many in the list's order. */
const LIMIT = 1_000;

/** The statements that searched, with their values. */
const sent: [text: string, values: unknown[]][] = [];

const copy = await copyTemplate();
const onQuery = (text: string, values: unknown[]) => text.includes("tsquery") && sent.push([text, values]);
const database = openPostgres(copy.url, { log: silentLog, onQuery });
const world = await createWorld({ database });
/** A board with a small part of all tasks, like most boards. */
const home = await world.tenant("home");
/** A board of another organization with most of the tasks, which have the same texts. */
const abroad = await world.tenant("abroad");
for (const [{ board_id }, count] of [
  [home, COUNT],
  [abroad, OTHER_COUNT],
] as const)
  await world.db.execute(sql`
      insert into tasks (board_id, title, description, priority, due_at, created_at, updated_at)
      select ${board_id}, 'Task ' || n, 'common word' || (n % 100) || ' unique' || md5(n::text) || case when n % 11 < 6 then ' early' else '' end,
        (array['high', 'medium', 'low', 'other'])[n % 4 + 1],
        case n % 3 when 0 then timestamptz '2026-01-01Z' + n % 7 * interval '1 day' end,
        timestamptz '2026-01-01Z' + n % 11 * interval '1 hour', timestamptz '2026-01-02Z' + n % 13 * interval '1 hour'
      from generate_series(1, ${count}::int) as n`);
await world.db.execute(sql`vacuum analyze tasks`);
afterAll(async () => {
  await world.close();
  await database.close();
  await copy.drop();
});

async function listTasks(query: Record<string, string>, tenant = home) {
  const path = `/api/v1/boards/${tenant.board_id}/tasks?${new URLSearchParams(query)}`;
  const { status, body, headers } = await world.call("GET", path, { token: tenant.owner.token });
  expect(status).toBe(200);
  const next = /[?&]cursor=([^&>]*)/.exec(headers.get("link") ?? "")?.[1];
  return {
    ids: body.items.map(({ id }: { id: string }) => id) as string[],
    total: body.total as number,
    is_limited: body.total_is_limited,
    next,
  };
}

describe.skipIf(onLambda)("on a server with the tasks of many boards", () => {
  interface PlanNode {
    "Node Type": string;
    "Relation Name"?: string;
    "Index Name"?: string;
    "Actual Rows": number;
    "Actual Loops": number;
    "Rows Removed by Index Recheck"?: number;
    "Rows Removed by Filter"?: number;
    Plans?: PlanNode[];
  }
  const nodesOf = (node: PlanNode): PlanNode[] => [node, ...(node.Plans ?? []).flatMap(nodesOf)];

  /** Runs the request, and returns the plan of the statement that reads its page. */
  async function explainList(query: Record<string, string>, tenant: Tenant): Promise<PlanNode[]> {
    sent.length = 0;
    await listTasks(query, tenant);
    const [text, values] = sent[0]!;
    const parts = text
      .split(/\$(\d+)/)
      .map((part, index) => (index % 2 === 0 ? sql.raw(part) : sql`${values[Number(part) - 1]}`));
    const result = await world.db.execute(sql`explain (analyze, format json) ${sql.join(parts)}`);
    const [row] = rowsOf<{ "QUERY PLAN": [{ Plan: PlanNode }] }>(result);
    return nodesOf(row!["QUERY PLAN"][0].Plan);
  }

  /** Checks the parts of the plan that were executed, and counts their rows. */
  async function explainSearch(query: Record<string, string>, tenant: Tenant) {
    const nodes = (await explainList(query, tenant)).filter((node) => node["Actual Loops"] > 0);
    const scans = nodes.filter((node) => node["Relation Name"] === "tasks");
    expect(scans.filter((node) => node["Node Type"] === "Seq Scan")).toEqual([]);
    const removed = scans.flatMap((node) => [node["Rows Removed by Index Recheck"], node["Rows Removed by Filter"]]);
    const rowsOf = (list: PlanNode[]) => sum(list.map((node) => node["Actual Rows"] * node["Actual Loops"]));
    return {
      searches: nodes.filter((node) => node["Index Name"] === "tasks_by_word").length,
      rows: rowsOf(scans),
      removed: sum(removed.map((count = 0) => count)),
      sorted: Math.max(0, ...nodes.filter((node) => node["Node Type"] === "Sort").map((node) => node["Actual Rows"])),
    };
  }

  const PAGES = [
    { query: {}, shown: (total: number) => Math.min(10, total) },
    { query: { cursor: "" }, shown: (total: number) => Math.min(11, total) },
    { query: { sort: "priority", offset: "20" }, shown: (total: number) => Math.min(10, Math.max(0, total - 20)) },
  ];

  test.each(["word17", "common word99", "unique1", "abc", "task 12"])(
    "a search for %j, which few tasks have, uses the index once, and reads only what it finds and the tasks of the page",
    async (q) => {
      for (const { query, shown } of PAGES) {
        const { total } = await listTasks({ q }, home);
        const { searches, rows, removed } = await explainSearch({ ...query, q, limit: "10" }, home);
        expect([searches, rows, removed]).toEqual([1, total + shown(total), 0]);
      }
    },
  );

  test.each(["wor", "uni", "common"])("a search for %j, which most tasks have, sorts few of them", async (q) => {
    for (const tenant of [home, abroad])
      for (const { query, shown } of PAGES) {
        const { total } = await listTasks({ q }, tenant);
        const counted = "cursor" in query ? 0 : total;
        const { searches, rows, sorted } = await explainSearch({ ...query, q, limit: "10" }, tenant);
        expect(searches).toBe(counted === 0 ? 1 : 2);
        // PostgreSQL may read a board of two thousand tasks whole instead of its first thousand, but never a large one.
        expect(rows).toBeLessThanOrEqual(LIMIT + 1 + COUNT + counted + shown(total));
        expect(sorted).toBeLessThanOrEqual(LIMIT);
        const limited = await explainSearch({ ...query, q, limit: "10", count: "limited" }, tenant);
        expect(limited.rows).toBeLessThanOrEqual(LIMIT + 1 + COUNT + shown(total));
      }
  });
});

const sum = (numbers: number[]) => numbers.reduce((one, other) => one + other, 0);

const SORTS = ["created_at", "updated_at", "due_at", "priority"].flatMap((key) => [key, `-${key}`]);

const SEARCHES = { "few tasks": "word1", "all tasks": "common", "the oldest tasks": "early" };

describe.each(SORTS)("the pages by %s", (sort) => {
  let all: string[];
  beforeAll(async () => {
    all = await readByOffset({ sort });
  });

  test.each(Object.entries(SEARCHES))(
    `the pages by ${sort} of a search that finds %s have the found tasks in the order of the whole list`,
    async (_what, q) => {
      const found = await world.db.execute(
        sql`select id from tasks where board_id = ${home.board_id} and ' ' || description like ${`% ${q}%`}`,
      );
      const matching = new Set(rowsOf<{ id: string }>(found).map(({ id }) => id));
      const expected = all.filter((id) => matching.has(id));
      expect(expected.length).toBeGreaterThan(200);
      expect(await readByOffset({ sort, q })).toEqual(expected);
      expect(await readByOffset({ sort, q, count: "limited" })).toEqual(expected);
      expect(await readByCursor({ sort, q })).toEqual(expected);
    },
  );
});

test("a list with count=limited counts up to 1,000, says whether there are more, and links to the next page", async () => {
  for (const query of [{ q: "common" }, { q: "early", sort: "-due_at" }, {}]) {
    const limited = await listTasks({ ...query, count: "limited", limit: "10" });
    expect(limited).toMatchObject({ total: 1_000, is_limited: true, next: expect.any(String) });
    const exact = await listTasks({ ...query, limit: "10" });
    expect(exact.ids).toEqual(limited.ids);
    expect(exact.total).toBeGreaterThan(1_000);
    expect(exact.is_limited).toBeUndefined();
    const past = await listTasks({ ...query, count: "limited", offset: "5000" });
    expect(past).toEqual({ ids: [], total: 1_000, is_limited: true, next: undefined });
  }
  expect(await listTasks({ q: "word1", count: "limited" })).toMatchObject({ total: COUNT * 0.11 });
});

test("a search is counted on every page by offset, even past its end", async () => {
  const q = "common word5";
  const expected = COUNT * 0.11;
  for (const offset of [0, 20, expected - 1, expected, 1_000_000, 2_147_483_647]) {
    const { ids, total } = await listTasks({ q, limit: "7", offset: String(offset) });
    expect([ids.length, total], `offset ${offset}`).toEqual([Math.max(0, Math.min(7, expected - offset)), expected]);
  }
  expect(await listTasks({ q, limit: "7", cursor: "" })).toMatchObject({ total: -1 });
  expect(await listTasks({ q: "absent" })).toEqual({ ids: [], total: 0 });
  expect(await listTasks({ q, status: "done" })).toMatchObject({ ids: [], total: 0 });
});

async function readByOffset(query: Record<string, string>): Promise<string[]> {
  const ids: string[] = [];
  for (;;) {
    const page = await listTasks({ ...query, limit: "200", offset: String(ids.length) });
    ids.push(...page.ids);
    if (page.ids.length < 200) return ids;
  }
}

async function readByCursor(query: Record<string, string>): Promise<string[]> {
  const ids: string[] = [];
  for (let cursor: string | undefined = ""; cursor !== undefined; ) {
    const page = await listTasks({ ...query, limit: "50", cursor });
    ids.push(...page.ids);
    cursor = page.next;
  }
  return ids;
}
