import { rowsOf } from "@board/core/db/database";
import { sql } from "drizzle-orm";
import type { BenchEnvironment } from "./environment.ts";
import { round, type Row } from "./row.ts";

const POSTS = 1_000;
const AGENTS = 10;

/** Measures how fast waiting webhook posts reach their agents, with all posts in one lane and in ten lanes. */
export async function benchDeliveries(place: BenchEnvironment): Promise<Row[]> {
  const { api, db, gateway, waitForJobs } = place;
  const paths: string[] = [];
  // All boards share the gateway's budget of running jobs.
  for (let n = 0; n < AGENTS; n++) {
    const board = await api("POST", "/api/v1/boards", { name: `Lane ${n}`, description: "Bench", gateway_id: gateway.id });
    await api("POST", "/api/v1/agents", { name: "Lead", board_id: board.id, is_board_lead: true });
    const path = `/api/v1/boards/${board.id}/webhooks`;
    paths.push((await api<{ endpoint_path: string }>("POST", path, { description: "Bench" })).endpoint_path);
  }
  await waitForJobs("agent.wake_check");
  await db.execute(sql`delete from jobs where kind = 'agent.wake_check'`);
  return [await deliver(place, paths.slice(0, 1)), await deliver(place, paths)];
}

async function deliver({ service, db, host, waitForJobs }: BenchEnvironment, paths: readonly string[]): Promise<Row> {
  const sessions = async () => {
    const result = await db.execute(sql`select sessions::int as count from pg_stat_database where datname = current_database()`);
    return rowsOf<{ count: number }>(result)[0]!.count;
  };
  let delivered = 0;
  const all = Promise.withResolvers<void>();
  const stop = host.onMessage(() => {
    delivered++;
    if (delivered === POSTS) all.resolve();
  });
  const before = await sessions();
  const posts = Array.from({ length: POSTS }, (_, n) => ({ path: paths[n % paths.length]!, n }));
  const post = async () => {
    for (let next = posts.pop(); next; next = posts.pop())
      await fetch(service.url + next.path, { method: "POST", body: `{"n":${next.n}}` });
  };
  await Promise.all(Array.from({ length: 4 }, post));
  // Up to here the process was also busy with accepting posts, so only the rest is timed.
  const waiting = POSTS - delivered;
  const start = performance.now();
  await all.promise;
  const seconds = (performance.now() - start) / 1_000;
  stop();
  await waitForJobs();
  const opened = (await sessions()) - before;
  const lanes = paths.length === 1 ? "one agent" : `${paths.length} agents of one host`;
  return {
    what: `waiting posts delivered to ${lanes}`,
    figure: `${round(waiting / seconds)}/s`,
    target: paths.length === 1 ? "300/s" : "600/s",
    baseline: `${opened} sessions opened`,
    ratio: "",
    statements: "",
  };
}
