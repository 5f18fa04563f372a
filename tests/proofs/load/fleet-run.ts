/** Clients of processes that are killed at random, while a queue that fails at random delivers their jobs. */
import { setTimeout as pause } from "node:timers/promises";
import { copyTemplate } from "../../support/test-database.ts";
import { createEnvironment, inProcess, type ServiceEnvironment } from "./environment.ts";
import { nullIfDied, startFleet } from "./fleet.ts";
import { startHost } from "./hosts.ts";
import type { ProcessPool } from "./process-pool.ts";
import { createQueueDriver } from "./queue-driver.ts";
import type { Random } from "./random.ts";
import type { Reply } from "./service.ts";

export interface FleetPlan {
  seed: number;
  clients: number;
  processes: number;
  /** After how many crash points a process is killed on average. A post passes about twenty of them. */
  mean_life: number;
}

interface Request {
  method: string;
  path: string;
  headers?: Record<string, string>;
  body: object;
}

/** Sends a request to any process. Returns null if the process died or refused it for now, so that it must be sent again. */
export type Send = (request: Request) => Promise<Reply | null>;

export interface FleetWork<Place> {
  random: Random;
  /** How many times all clients together call `act`. */
  times: number;
  /** Creates through the service what the clients work on. */
  seed(outside: ServiceEnvironment): Promise<Place>;
  act(send: Send, place: Place, outside: ServiceEnvironment): Promise<unknown>;
  /** Must exceed the driver's default if jobs wait for hours between their attempts. */
  max_idle_polls?: number;
}

export interface FleetRun<Place> {
  place: Place;
  rows: ServiceEnvironment["rows"];
  /** Returns the number that an SQL expression yields for a table. */
  count: (expression: string, table: string) => Promise<number>;
  /** Requests that had to be sent again. */
  unanswered: number;
  kills: number;
  /** Unexpected errors that processes reported. */
  errors: readonly string[];
  /** The figures that every summary has. */
  figures: Record<string, number | string>;
}

const BUSY_PAUSE_MS = 20;
const JSON_TYPE = { "content-type": "application/json" };
/** Answers that tell a client to send its request again. */
const isTemporary = ({ status, headers }: Reply) => status === 503 || (status === 409 && "retry-after" in headers);

/**
 * Runs until no client has work and no job is left. Then calls `inspect`, stops everything, and returns what `inspect` returned.
 */
export async function runFleet<Place, Result>(
  crew: ProcessPool,
  { seed, clients, processes, mean_life }: FleetPlan,
  work: FleetWork<Place>,
  inspect: (run: FleetRun<Place>) => Promise<Result>,
): Promise<Result> {
  const { random } = work;
  const [copy, host] = await Promise.all([copyTemplate(), startHost()]);
  const outside = createEnvironment(copy.url, host);
  const driver = createQueueDriver(random);
  const count = async (expression: string, table: string) =>
    (await outside.rows<{ total: number }>(`select (${expression})::int as total from ${table}`))[0]!.total;
  try {
    const place = await inProcess(crew, outside, () => work.seed(outside));
    const started = performance.now();
    const fleet = await startFleet(crew, driver.take, { url: copy.url, size: processes, mean_life, random });
    try {
      let unanswered = 0;
      const send: Send = async ({ method, path, headers = {}, body }) => {
        const order = { do: "request", method, path, headers: { ...JSON_TYPE, ...headers }, body: JSON.stringify(body) } as const;
        const reply = (await nullIfDied(fleet.order(order))) as Reply | null;
        if (reply && !isTemporary(reply)) return reply;
        unanswered += 1;
        if (reply) await pause(BUSY_PAUSE_MS);
        return null;
      };
      let begun = 0;
      let left = clients;
      const client = async () => {
        while (begun++ < work.times) await work.act(send, place, outside);
        left -= 1;
      };
      const live = () => count("count(*) filter (where status in ('queued', 'running'))", "jobs");
      const { max_idle_polls } = work;
      const others = { clients: () => left, live, ...(max_idle_polls ? { max_idle_polls } : {}) };
      await Promise.all([...Array.from({ length: clients }, client), driver.run(fleet, others)]);
      fleet.close();
      const figures = {
        seed,
        seconds: Math.round((performance.now() - started) / 100) / 10,
        "processes killed": fleet.kills(),
        "requests without an answer, which were repeated": unanswered,
        "wake-ups refused, unanswered, duplicated, delayed, returned": Object.values(driver.queue.counts).join(", "),
        "hours that the clock advanced": Math.round(driver.ahead_ms / 360_000) / 10,
      };
      const { rows } = outside;
      return await inspect({ place, rows, count, unanswered, kills: fleet.kills(), errors: fleet.errors, figures });
    } finally {
      fleet.close();
    }
  } finally {
    await outside.close();
    await host.close();
    await copy.drop();
  }
}
