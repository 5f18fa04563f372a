import { rowsOf } from "@board/core/db/database";
import { tasks } from "@board/core/schema/all-tables";
import { eq, sql } from "drizzle-orm";
import type { BenchEnvironment } from "./environment.ts";
import { round, type Row } from "./row.ts";

const TASKS = 100_000;
const OTHERS = 100_000;
const LIMIT = 50;
const RUNS = 41;
const DEEP_PAGE = 1_000;

/** Measures searches, and pages by cursor at the start and deep inside a list, compared with the same pages by offset. */
export async function benchPages(place: BenchEnvironment): Promise<Row[]> {
  await fill(place);
  const path = `/api/v1/boards/${place.board.id}/tasks?limit=${LIMIT}`;
  const median = (query: string) => medianOf(place, `${path}&${query}`);
  const rows: Row[] = [];
  for (const sort of ["-created_at", "-updated_at", "due_at", "priority"]) {
    const deep_cursor = await cursorOfPage(place, `${path}&sort=${sort}`, DEEP_PAGE);
    const first = await median(`sort=${sort}&cursor=`);
    const deep = await median(`sort=${sort}&cursor=${deep_cursor}`);
    const skipped = await median(`sort=${sort}&offset=${(DEEP_PAGE - 1) * LIMIT}`);
    rows.push({
      what: `page 1 and page ${DEEP_PAGE.toLocaleString("en")} of ${TASKS.toLocaleString("en")} tasks by cursor, ${sort}`,
      figure: `p50 ${round(first)} and ${round(deep)} ms`,
      target: "the same",
      baseline: `by offset p50 ${round(skipped)} ms`,
      ratio: `${(skipped / deep).toFixed(1)}x`,
      statements: await place.count(() => read(place, `${path}&sort=${sort}&cursor=`)),
    });
  }
  const unindexed = await medianUnindexed(place, "word42 word43");
  for (const q of ["word4242", "word42", "word42 word43", "common word7", "absent"]) {
    const found = await median(`q=${encodeURIComponent(q)}`);
    rows.push({
      what: `search for "${q}" among ${TASKS.toLocaleString("en")} tasks of ${(TASKS + OTHERS).toLocaleString("en")}`,
      figure: `p50 ${round(found)} ms`,
      target: "20 ms",
      baseline: `ilike, two words: p50 ${round(unindexed)} ms`,
      ratio: `${(unindexed / found).toFixed(1)}x`,
      statements: await place.count(() => read(place, `${path}&q=${encodeURIComponent(q)}`)),
    });
  }
  await place.db.execute(sql`delete from boards where slug = 'other-pages'`);
  await place.db.delete(tasks).where(eq(tasks.board_id, place.board.id));
  // The empty pages of 200,000 removed tasks would slow down the benches that follow.
  await place.db.execute(sql`vacuum full analyze ${tasks}`);
  return rows;
}

/** Adds tasks with 30 words each, some common and most rare, and as many tasks on other boards. */
async function fill({ db, board }: BenchEnvironment): Promise<void> {
  const words = sql`(select string_agg('word' || (n::bigint * i * i * 7919 % (i * 400)), ' ') from generate_series(1, 28) as i)`;
  const add = (board_id: string, count: number) =>
    db.execute(sql`
      insert into tasks (board_id, title, description, priority, due_at, created_at, updated_at)
      select ${board_id}, 'Task ' || n, ${words} || case n % 50 when 0 then ' common' else '' end,
        (array['high', 'medium', 'low'])[n % 3 + 1], case n % 2 when 0 then now() + n * interval '1 minute' end,
        now() - n * interval '1 second', now() - (n::bigint * 7919 % 100000) * interval '1 second'
      from generate_series(1, ${count}::int) as n`);
  const other = rowsOf<{ id: string }>(
    await db.execute(sql`
      insert into boards (organization_id, gateway_id, name, slug, description)
      select organization_id, gateway_id, 'Other', 'other-pages', '' from boards where id = ${board.id} returning id`),
  );
  await add(board.id, TASKS);
  await add(other[0]!.id, OTHERS);
  await db.execute(sql`vacuum analyze tasks`);
}

/** Returns the cursor at which the page with this number begins, from a request by offset. */
async function cursorOfPage({ service, authorization }: BenchEnvironment, path: string, page: number): Promise<string> {
  const offset = (page - 1) * LIMIT - 1;
  const answer = await fetch(`${service.url}${path.replace(/limit=\d+/, "limit=1")}&offset=${offset}`, {
    headers: { authorization },
  });
  return new URL(/<(.*)>/.exec(answer.headers.get("link")!)![1]!, service.url).searchParams.get("cursor")!;
}

async function read({ service, authorization }: BenchEnvironment, path: string): Promise<void> {
  const answer = await fetch(service.url + path, { headers: { authorization } });
  await answer.text();
  if (answer.status !== 200) throw new Error(`${path}: ${answer.status}`);
}

/** Returns the median time of requests that are sent one after the other. */
async function medianOf(place: BenchEnvironment, path: string): Promise<number> {
  const times: number[] = [];
  for (let run = 0; run < RUNS; run++) {
    const start = performance.now();
    await read(place, path);
    times.push(performance.now() - start);
  }
  return times.toSorted((a, b) => a - b)[(RUNS - 1) / 2]!;
}

/** Returns the median time of the statement that searched before there was an index. */
async function medianUnindexed({ db, board }: BenchEnvironment, q: string): Promise<number> {
  const matches = q.split(" ").map((word) => sql`(title ilike ${`%${word}%`} or description ilike ${`%${word}%`})`);
  const times: number[] = [];
  for (let run = 0; run < 11; run++) {
    const start = performance.now();
    await db.execute(sql`select count(*) from tasks where board_id = ${board.id} and ${sql.join(matches, sql` and `)}`);
    times.push(performance.now() - start);
  }
  return times.toSorted((a, b) => a - b)[5]!;
}
