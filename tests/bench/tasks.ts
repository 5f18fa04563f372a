import { rowsOf } from "@board/core/db/database";
import { tag_assignments, task_dependencies, tasks } from "@board/core/schema/all-tables";
import { sql } from "drizzle-orm";
import { load } from "./load.ts";
import { CONNECTIONS, COUNTED_REQUESTS, type BenchEnvironment } from "./environment.ts";
import { rate, type Row } from "./row.ts";
import type { Service } from "./service.ts";

const TASKS = 5_000;
const DESCRIPTION = "Words of usual length, ".repeat(8);

/** Measures pages, single tasks and sequential changes on a board of 5,000 tasks with tags and dependencies. */
export async function benchTasks(place: BenchEnvironment): Promise<Row[]> {
  const { db, get, count, compareToBaseline, compareToFloor, service, authorization, board, startSecondService } = place;
  await fill(place);
  const all = `/api/v1/boards/${board.id}/tasks`;
  const found = await db.execute(
    sql`select id from ${tasks} where id not in (select task_id from ${task_dependencies}) order by created_at`,
  );
  const ids = rowsOf<{ id: string }>(found).map(({ id }) => id);
  const rows: Row[] = [];

  const read = async (what: string, target: string, path: string) => {
    await get(path, { authorization }, 300);
    const figures = await get(path, { authorization }, 2_000);
    const request = () => fetch(service.url + path, { headers: { authorization } });
    const floor = await compareToFloor(figures, request);
    rows.push({ what, figure: rate(figures), target, ...compareToBaseline(figures), ...floor, statements: await count(request) });
  };
  const patch = async (at: Service, what: string, target: string, body: (n: number) => object) => {
    const headers = { authorization: `Bearer ${at.token}` };
    const target_of = (n: number) => `${all}/${ids[n % ids.length]}`;
    const send = (from: number, requests: number) =>
      load({
        url: at.url,
        method: "PATCH",
        headers,
        connections: CONNECTIONS,
        requests,
        nth: (n) => ({ path: target_of(from + n), body: JSON.stringify(body(from + n)) }),
      });
    await send(0, 300);
    const figures = await send(300, 2_000);
    const one = (n: number) =>
      fetch(at.url + target_of(2_300 + n), { method: "PATCH", headers, body: JSON.stringify(body(2_300 + n)) });
    let recorded = COUNTED_REQUESTS;
    const floor = await compareToFloor(figures, () => one(++recorded), ids);
    const statements = await count(one);
    rows.push({ what, figure: rate(figures), target, ...compareToBaseline(figures), ...floor, statements });
  };

  const post = async (what: string, target: string, path: string, body: (n: number) => object) => {
    const headers = { authorization };
    const nth = (n: number) => ({ path, body: JSON.stringify(body(n)) });
    const send = (requests: number) =>
      load({ url: service.url, method: "POST", headers, connections: CONNECTIONS, requests, nth });
    await send(300);
    const figures = await send(2_000);
    const one = () => fetch(service.url + path, { method: "POST", headers, body: JSON.stringify(body(0)) });
    const floor = await compareToFloor(figures, one);
    rows.push({ what, figure: rate(figures), target, ...compareToBaseline(figures), ...floor, statements: await count(one) });
  };

  await read(`list tasks, 50 of ${TASKS.toLocaleString("en")}`, "1,200/s", `${all}?limit=50`);
  await read("the same at offset 4,000", "", `${all}?limit=50&offset=4000`);
  await read("one task", "", `${all}/${ids[0]}`);
  await patch(service, "change a task's priority", "800/s", (n) => ({ priority: `p${n}` }));
  await patch(service, "move a task", "", () => ({ status: "in_progress" }));
  await post("create a task", "720/s", all, (n) => ({ title: `Created ${n}`, description: DESCRIPTION }));
  await post("comment on a task", "1,200/s", `${all}/${ids[0]}/comments`, (n) => ({ message: `${n} ${DESCRIPTION}` }));
  const publishing = await startSecondService({ BOARD_EVENTS: "on" });
  try {
    await patch(publishing, "change a task's priority, with board events", "", (n) => ({ priority: `q${n}` }));
    await patch(publishing, "move a task, with board events", "", () => ({ status: "review" }));
  } finally {
    await publishing.stop();
  }
  await db.delete(tasks);
  return rows;
}

async function fill({ db, api, board }: BenchEnvironment): Promise<void> {
  const { id: tag } = await api("POST", "/api/v1/tags", { name: "Bench" });
  await db.execute(sql`insert into ${tasks} (board_id, title, created_at)
    select ${board.id}, 'Task ' || n, now() - n * interval '1 minute' from generate_series(1, ${TASKS}::int) as n`);
  await db.execute(sql`insert into ${tag_assignments} (task_id, tag_id, position) select id, ${tag}, 0 from ${tasks}`);
  await db.execute(sql`insert into ${task_dependencies} (board_id, task_id, depends_on_task_id, position)
    select board_id, id, next, 0 from (
      select board_id, id, lead(id) over (order by created_at) as next, row_number() over (order by created_at) as place
      from ${tasks}) as numbered
    where place % 5 = 1 and next is not null`);
  await db.execute(sql`vacuum analyze ${tasks}, ${tag_assignments}, ${task_dependencies}`);
}
