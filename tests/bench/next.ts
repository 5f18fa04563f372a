import { hashToken, mintToken, tokenLookup } from "@board/core/agent/token";
import { rowsOf } from "@board/core/db/database";
import { agents, tasks } from "@board/core/schema/all-tables";
import { toKey } from "@board/core/values/seal";
import { eq, sql } from "drizzle-orm";
import type { BenchEnvironment } from "./environment.ts";
import { load } from "./load.ts";
import { rate, round, type Row } from "./row.ts";
import { KEYS } from "./service.ts";

export const CALLERS = 32;
const CLAIMS = 2_000;
/** The numbers of free and of done tasks. Most tasks are done, as on a board that is in use. */
const FREE = 10_000;
const DONE = 40_000;

/** Measures 32 agents that take tasks at the same time, compared with agents that search for a task and claim it with an update. */
export async function benchNext(place: BenchEnvironment): Promise<Row[]> {
  const { db, service, count, compareToBaseline, compareToFloor, board } = place;
  const tokens = await addWorkers(place);
  const next = { method: "POST", path: "/api/v1/agent/tasks/next", body: JSON.stringify({ parallel: true }) };
  const headersOf = (n: number) => ({ "x-agent-token": tokens[n % CALLERS]!, "content-type": "application/json" });
  const claim = (requests: number) =>
    load({
      url: service.url,
      method: next.method,
      connections: CALLERS,
      requests,
      nth: (n) => ({ path: next.path, body: next.body, headers: headersOf(n) }),
    });

  await fill(place);
  await claim(300);
  const figures = await claim(CLAIMS);
  const doubled = await countDoubled(place);
  const one = (n: number) => fetch(service.url + next.path, { method: next.method, headers: headersOf(n), body: next.body });
  const statements = await count(one);

  await fill(place);
  const searched = await searchAndClaim(place, tokens);
  await fill(place);
  await db.update(tasks).set({ status: "blocked" }).where(sql`${tasks.status} = 'inbox'`);
  await db.execute(sql`vacuum analyze ${tasks}`);
  await claim(300);
  const idle = await claim(CLAIMS);
  const idle_floor = await compareToFloor(idle, () => one(0));
  const idle_statements = await count(one);
  await db.delete(tasks).where(eq(tasks.board_id, board.id));
  await db.delete(agents).where(sql`${agents.name} like 'Taker %'`);
  const baseline = `list and claim: ${round(searched.per_second)} claims/s, ${searched.refused} of ${searched.sent} refused`;
  return [
    {
      what: `next task, ${CALLERS} agents, ${FREE.toLocaleString("en")} free of ${(FREE + DONE).toLocaleString("en")}`,
      figure: `${rate(figures)}, ${doubled} doubled`,
      target: "none doubled",
      baseline,
      ratio: `${(figures.per_second / searched.per_second).toFixed(1)}x`,
      statements,
    },
    {
      what: "the same without a free task",
      figure: rate(idle),
      target: "",
      ...compareToBaseline(idle),
      ...idle_floor,
      statements: idle_statements,
    },
  ];
}

/** Stores agents as they are after their first heartbeat, and returns their tokens. */
export async function addWorkers({ db, board, gateway }: BenchEnvironment): Promise<string[]> {
  const pepper = toKey(KEYS.TOKEN_PEPPER);
  const tokens = Array.from({ length: CALLERS }, () => mintToken());
  const rows = await Promise.all(
    tokens.map(async (token, index) => ({
      board_id: board.id,
      gateway_id: gateway.id,
      name: `Taker ${index + 1}`,
      status: "online" as const,
      last_seen_at: new Date(),
      agent_token_hash: await hashToken(token),
      agent_token_lookup: tokenLookup(pepper, token),
    })),
  );
  await db.insert(agents).values(rows);
  return tokens;
}

export async function fill({ db, board }: BenchEnvironment): Promise<void> {
  await db.delete(tasks).where(eq(tasks.board_id, board.id));
  const insert = (status: string, total: number) =>
    db.execute(sql`insert into ${tasks} (board_id, title, status, priority, created_at)
      select ${board.id}, 'Task ' || n, ${status}, (array['high', 'medium', 'low'])[1 + n % 3], now() - n * interval '1 minute'
      from generate_series(1, ${total}::int) as n`);
  await insert("done", DONE);
  await insert("inbox", FREE);
  await db.execute(sql`vacuum analyze ${tasks}`);
}

/** Counts the tasks that were started more than once. */
async function countDoubled({ db, board }: BenchEnvironment): Promise<number> {
  const found = await db.execute(sql`select count(*)::int as total from (
    select task_id from task_transitions where board_id = ${board.id} and to_status = 'in_progress' and task_id is not null
    group by task_id having count(*) > 1) as doubled`);
  return rowsOf<{ total: number }>(found)[0]!.total;
}

/** Claims tasks without the operation `next`: each agent lists the free tasks and claims the first of them. */
async function searchAndClaim({ service, board }: BenchEnvironment, tokens: readonly string[]) {
  const path = `${service.url}/api/v1/agent/boards/${board.id}/tasks`;
  let claimed = 0;
  let sent = 0;
  const start = performance.now();
  const work = async (token: string) => {
    const headers = { "x-agent-token": token };
    while (claimed < CLAIMS / 20) {
      const found = await fetch(`${path}?status=inbox&unassigned=true&limit=1`, { headers });
      const [task] = ((await found.json()) as { items: { id: string }[] }).items;
      const answer = await fetch(`${path}/${task!.id}`, {
        method: "PATCH",
        headers,
        body: JSON.stringify({ status: "in_progress" }),
      });
      await answer.arrayBuffer();
      sent += 1;
      if (answer.ok) claimed += 1;
    }
  };
  await Promise.all(tokens.map(work));
  return { per_second: claimed / ((performance.now() - start) / 1_000), sent, refused: sent - claimed };
}
