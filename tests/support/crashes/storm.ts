/** Many posts at once, while hosts, the queue and the processes of the service fail at random. */
import { rowsOf } from "@board/core/db/database";
import { openPostgres } from "@board/core/db/postgres";
import { silent } from "@board/core/log";
import { sql } from "drizzle-orm";
import type { FakeGateway } from "../../../packages/local/src/fake-gateway/server.ts";
import type { Postgres } from "../postgres.ts";
import { createConsumption } from "./consumption.ts";
import { addCustomers } from "./customers.ts";
import { startFleet } from "./fleet.ts";
import { type Attempt, beginPosting } from "./posting.ts";
import type { Crew } from "./processes.ts";
import { createRandom } from "./random.ts";
import { EMPTY } from "./stage.ts";
import { makeWeather, type Weather } from "./weather.ts";

export interface StormPlan {
  seed: number;
  posts: number;
  clients: number;
  processes: number;
  /** After how many moments a process dies, on average; one post takes about twenty from its arrival to its agent. */
  mean_life: number;
  organizations: number;
  /** Of each organization; on each a lead and a worker, with a webhook each. */
  boards: number;
}

export interface Storm {
  attempts: Attempt[];
  hosts: FakeGateway[];
  rows: <Row>(statement: string) => Promise<Row[]>;
  /** Unexpected errors that processes spoke of. */
  errors: string[];
  /** What is told of it. */
  figures: Record<string, number | string>;
}

/** Runs until nothing is left to do, and hands what has come of it to `look` before everything is taken down. */
export async function storm(
  { postgres, crew }: { postgres: Postgres; crew: Crew },
  plan: StormPlan,
  look: (storm: Storm) => Promise<void>,
): Promise<void> {
  const random = createRandom(plan.seed);
  const url = await postgres.createDatabase("storm", EMPTY);
  const { hosts, hooks } = await addCustomers(crew, url, plan);
  const weathers = hosts.map((host) => makeWeather(host, random));
  const database = openPostgres(url, { max: 2, log: silent });
  const rows = async <Row>(statement: string) => rowsOf<Row>(await database.db.execute(sql.raw(statement)));
  const count = async (of: string) => (await rows<{ total: number }>(`select (${of})::int as total from jobs`))[0]!.total;

  const started = performance.now();
  const consumption = createConsumption(random);
  const fleet = await startFleet(crew, consumption.take, { url, size: plan.processes, mean_life: plan.mean_life, random });
  try {
    const posting = beginPosting(fleet, hooks, { ...plan, random });
    const consuming = consumption.run(fleet, {
      clients: () => posting.left,
      live: () => count("count(*) filter (where status in ('queued', 'running'))"),
    });
    await Promise.all([posting.done, consuming]);
    fleet.close();
    const heard = hosts.flatMap(({ messages }) => messages).length;
    const sent = hosts.flatMap(({ calls }) => calls).filter(({ method }) => method === "chat.send").length;
    const figures = {
      seed: plan.seed,
      posts: plan.posts,
      seconds: Math.round((performance.now() - started) / 100) / 10,
      "processes killed": fleet.kills(),
      "posts that nobody answered, and were repeated": posting.attempts.length - plan.posts,
      "of these stored all the same": (await count("count(*)")) - plan.posts,
      "attempts at jobs that were not the first": await count("coalesce(sum(attempts - 1), 0)"),
      "calls refused, cut, taken and not answered, late": told(weathers),
      "wake-ups refused, taken and not answered, doubled, late, given back": Object.values(consumption.queue.counts).join(", "),
      "messages sent": sent,
      "messages heard": heard,
      "repeats that hosts dropped, or refused": sent - heard,
      "hours that the clock went on": Math.round(consumption.ahead_ms / 360_000) / 10,
    };
    await look({ attempts: posting.attempts, hosts, rows, errors: fleet.errors, figures });
  } finally {
    fleet.close();
    await database.close();
    await Promise.all(hosts.map((host) => host.close()));
  }
}

function told(weathers: readonly Weather[]): string {
  const sum = (of: keyof Weather["counts"]) => weathers.reduce((total, { counts }) => total + counts[of], 0);
  return [sum("refused"), sum("cut"), sum("lost"), sum("delayed")].join(", ");
}
