/** Sends many concurrent posts while hosts, the queue and the processes of the service fail at random. */
import { rowsOf } from "@board/core/db/database";
import { openPostgres } from "@board/core/db/postgres";
import { silentLog } from "@board/core/values/log";
import { sql } from "drizzle-orm";
import type { FakeGateway } from "../../support/fake-gateway/server.ts";
import type { Postgres } from "../../support/postgres.ts";
import { createQueueDriver } from "./queue-driver.ts";
import { addChaosTenants } from "./chaos-tenants.ts";
import { startFleet } from "./fleet.ts";
import { type Attempt, startPosting } from "./posting.ts";
import type { ProcessPool } from "./process-pool.ts";
import { createRandom } from "./random.ts";
import { EMPTY } from "./snapshot.ts";
import { injectFaults, type FaultInjection } from "./fault-injection.ts";

export interface ChaosPlan {
  seed: number;
  posts: number;
  clients: number;
  processes: number;
  /** After how many crash points a process is killed on average. A post passes about twenty of them. */
  mean_life: number;
  organizations: number;
  /** Boards per organization. Each has a lead and a worker with a webhook each. */
  boards: number;
}

export interface ChaosRun {
  attempts: Attempt[];
  hosts: FakeGateway[];
  rows: <Row>(statement: string) => Promise<Row[]>;
  /** Unexpected errors that processes reported. */
  errors: string[];
  /** The figures for the summary. */
  figures: Record<string, number | string>;
}

/** Runs until no job is left and passes the result to `inspect` before it stops everything. */
export async function runChaos(
  { postgres, crew }: { postgres: Postgres; crew: ProcessPool },
  plan: ChaosPlan,
  inspect: (storm: ChaosRun) => Promise<void>,
): Promise<void> {
  const random = createRandom(plan.seed);
  const url = await postgres.createDatabase("storm", EMPTY);
  const { hosts, hooks } = await addChaosTenants(crew, url, plan);
  const injections = hosts.map((host) => injectFaults(host, random));
  const database = openPostgres(url, { max: 2, log: silentLog });
  const rows = async <Row>(statement: string) => rowsOf<Row>(await database.db.execute(sql.raw(statement)));
  const count = async (of: string) => (await rows<{ total: number }>(`select (${of})::int as total from jobs`))[0]!.total;

  const started = performance.now();
  const consumption = createQueueDriver(random);
  const fleet = await startFleet(crew, consumption.take, { url, size: plan.processes, mean_life: plan.mean_life, random });
  try {
    const posting = startPosting(fleet, hooks, { ...plan, random });
    const consuming = consumption.run(fleet, {
      clients: () => posting.left,
      live: () => count("count(*) filter (where status in ('queued', 'running'))"),
    });
    await Promise.all([posting.done, consuming]);
    fleet.close();
    const received = hosts.flatMap(({ messages }) => messages).length;
    const sent = hosts.flatMap(({ calls }) => calls).filter(({ method }) => method === "chat.send").length;
    const figures = {
      seed: plan.seed,
      posts: plan.posts,
      seconds: Math.round((performance.now() - started) / 100) / 10,
      "processes killed": fleet.kills(),
      "posts without an answer, which were repeated": posting.attempts.length - plan.posts,
      "of these, stored": (await count("count(*)")) - plan.posts,
      "further attempts of jobs": await count("coalesce(sum(attempts - 1), 0)"),
      "calls refused, cut, unanswered, delayed": formatFaultCounts(injections),
      "wake-ups refused, unanswered, duplicated, delayed, returned": Object.values(consumption.queue.counts).join(", "),
      "messages sent": sent,
      "messages received": received,
      "repeats that hosts dropped or refused": sent - received,
      "hours that the clock advanced": Math.round(consumption.ahead_ms / 360_000) / 10,
    };
    await inspect({ attempts: posting.attempts, hosts, rows, errors: fleet.errors, figures });
  } finally {
    fleet.close();
    await database.close();
    await Promise.all(hosts.map((host) => host.close()));
  }
}

function formatFaultCounts(injections: readonly FaultInjection[]): string {
  const sum = (of: keyof FaultInjection["counts"]) => injections.reduce((total, { counts }) => total + counts[of], 0);
  return [sum("refused"), sum("cut"), sum("lost"), sum("delayed")].join(", ");
}
