/** Makes many changes while the receivers of subscriptions, the queue and the processes of the service fail at random. */
import { rowsOf } from "@board/core/db/database";
import { openPostgres } from "@board/core/db/postgres";
import { silentLog } from "@board/core/values/log";
import { sql } from "drizzle-orm";
import type { Postgres } from "../../support/postgres.ts";
import { createEnvironment } from "../crashes/environment.ts";
import { startFleet } from "../crashes/fleet.ts";
import type { ProcessPool } from "../crashes/process-pool.ts";
import { createQueueDriver } from "../crashes/queue-driver.ts";
import { createRandom } from "../crashes/random.ts";
import { EMPTY, startHost } from "../crashes/snapshot.ts";
import { type Place, startChanging } from "./changes.ts";
import { type Behaviour, BEHAVIOURS, type FaultyReceivers, startFaultyReceivers } from "./receivers.ts";

/** Half an hour each: more than ten hours, the longest wait between two attempts. */
const MAX_IDLE_POLLS = 100;

export interface DeliveriesPlan {
  seed: number;
  changes: number;
  clients: number;
  processes: number;
  /** After how many crash points a process is killed on average. */
  mean_life: number;
}

/** A subscription and the behaviour of its receiver. */
export interface Subscribed {
  id: string;
  secret: string;
  behaviour: Behaviour;
  /** Null for all boards. */
  board_id: string | null;
}

export interface DeliveriesRun {
  subscriptions: Subscribed[];
  receivers: FaultyReceivers;
  rows: <Row>(statement: string) => Promise<Row[]>;
  /** Unexpected errors that processes reported. */
  errors: string[];
  /** The figures for the summary. */
  figures: Record<string, number | string>;
}

/** Runs until no job is left and passes the result to `inspect` before it stops everything. */
export async function runDeliveries(
  { postgres, crew }: { postgres: Postgres; crew: ProcessPool },
  plan: DeliveriesPlan,
  inspect: (run: DeliveriesRun) => Promise<void>,
): Promise<void> {
  const random = createRandom(plan.seed);
  const url = await postgres.createDatabase("deliveries", EMPTY);
  const receivers = await startFaultyReceivers(random);
  const { subscriptions, places } = await addSubscriptions(crew, url, receivers);
  const database = openPostgres(url, { max: 2, log: silentLog });
  const rows = async <Row>(statement: string) => rowsOf<Row>(await database.db.execute(sql.raw(statement)));
  const count = async (of: string, from: string) =>
    (await rows<{ total: number }>(`select (${of})::int as total from ${from}`))[0]!.total;

  const started = performance.now();
  const driver = createQueueDriver(random);
  const fleet = await startFleet(crew, driver.take, { url, size: plan.processes, mean_life: plan.mean_life, random });
  try {
    const changing = startChanging(fleet, places, { ...plan, random });
    const consuming = driver.run(fleet, {
      clients: () => changing.left,
      max_idle_polls: MAX_IDLE_POLLS,
      live: () => count("count(*) filter (where status in ('queued', 'running'))", "jobs"),
    });
    await Promise.all([changing.done, consuming]);
    fleet.close();
    const sent = subscriptions.reduce((sum, { behaviour }) => sum + receivers.messagesOf(behaviour).length, 0);
    const accepted = subscriptions.reduce((sum, { behaviour }) => sum + receivers.acceptedBy(behaviour).size, 0);
    const figures = {
      seed: plan.seed,
      changes: plan.changes,
      seconds: Math.round((performance.now() - started) / 100) / 10,
      "processes killed": fleet.kills(),
      "requests without an answer, which were repeated": changing.unanswered,
      deliveries: await count("count(*)", "subscription_deliveries"),
      "delivered, failed": [
        await count("count(*) filter (where status = 'delivered')", "subscription_deliveries"),
        await count("count(*) filter (where status = 'failed')", "subscription_deliveries"),
      ].join(", "),
      "messages received, events accepted": `${sent}, ${accepted}`,
      "errors, busy, redirects, garbage, cut, silent": Object.values(receivers.faults).join(", "),
      "wake-ups refused, unanswered, duplicated, delayed, returned": Object.values(driver.queue.counts).join(", "),
      "hours that the clock advanced": Math.round(driver.ahead_ms / 360_000) / 10,
    };
    await inspect({ subscriptions, receivers, rows, errors: fleet.errors, figures });
  } finally {
    fleet.close();
    await database.close();
    await receivers.close();
  }
}

/** Adds a board for each behaviour with a subscription, and a subscription to all boards with a receiver that never fails. */
async function addSubscriptions(
  crew: ProcessPool,
  url: string,
  receivers: FaultyReceivers,
): Promise<{ subscriptions: Subscribed[]; places: Place[] }> {
  const process = await crew.take();
  const host = await startHost();
  const outside = createEnvironment(url, host);
  await outside.useProcess(process, null);
  const subscribe = async (base: string, behaviour: Behaviour, board_id: string | null): Promise<Subscribed> => {
    const body = { url: receivers.urlOf(behaviour), event_types: ["task.*"] };
    const { id, secret } = await outside.create<{ id: string; secret: string }>(`${base}/subscriptions`, body);
    return { id, secret, behaviour, board_id };
  };
  const subscriptions = [await subscribe("/api/v1", "steady", null)];
  const places: Place[] = [];
  for (const [behaviour, share] of Object.entries(BEHAVIOURS) as [keyof typeof BEHAVIOURS, number][]) {
    const board = { name: behaviour, description: "A board", gateway: "pull" };
    const { id: board_id } = await outside.create<{ id: string }>("/api/v1/boards", board);
    subscriptions.push(await subscribe(`/api/v1/boards/${board_id}`, behaviour, board_id));
    places.push({ board_id, share });
  }
  await outside.drainQueue();
  await crew.release(process);
  await outside.close();
  await host.close();
  return { subscriptions, places };
}
