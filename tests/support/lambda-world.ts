/** What a world has in the place of the app in this process when the tests run on Lambdas: `npm run test:lambda`. */
import { mkdtempSync, renameSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import path from "node:path";
import type { Env } from "@board/api/app";
import type { Context } from "@board/core/context";
import type { Database } from "@board/core/db/database";
import { jobs } from "@board/core/db/schema";
import { openPostgres } from "@board/core/db/postgres";
import { relay } from "@board/core/job/job";
import type { QueueName } from "@board/core/job/kinds";
import { silent } from "@board/core/log";
import { deliveries, syncs } from "@board/functions/manifest";
import type { APIGatewayProxyStructuredResultV2, SQSBatchResponse } from "aws-lambda";
import { inArray } from "drizzle-orm";
import { Hono } from "hono";
import pg from "pg";
import { inject } from "vitest";
import { apiGateway } from "./api-gateway.ts";
import { sqsEvent } from "./events.ts";
import { startNeonProxy } from "./neon-proxy.ts";
import { serversBehind } from "./other-servers.ts";
import { administer } from "./postgres.ts";
import { createSandboxes } from "./sandboxes.ts";
import { startSqs } from "./sqs.ts";
import type { LogLine, WorldOptions } from "./world.ts";

export interface LambdaWorld {
  app: Hono<Env>;
  /** Delivers through the consumers what has a wake-up or could have one now; see `World.drain`. */
  drain(context: () => Context): Promise<number>;
  /**
   * Moves the time of this process, hosts and queues in it included: a function has one clock, for what it stores as for
   * what it signs, and whoever checks it must have the same.
   */
  elapse(ms: number): void;
  close(): Promise<void>;
}

export interface LambdaWorldOptions extends Pick<WorldOptions, "clock" | "streams" | "socketAddress" | "web"> {
  environment: Record<string, string>;
  database: Database;
  log: LogLine[];
  statements: string[];
  now(this: void): Date;
}

/** What the functions of all worlds have written since the test began. */
export const written: string[] = [];

const queues = { deliveries, syncs };
const names = Object.keys(queues) as QueueName[];
/** Statements that are no part of an operation: frames of others, the driver's sign of life, and the relay behind the answer. */
const ASIDE = /^(begin|commit|rollback|select 1$|\s*update "jobs" set sent_at = )/i;

let databases = 0;

const RealDate = Date;
/** Milliseconds by which this process is ahead. */
let ahead = 0;
const newDate = (parts: unknown[], target: unknown = RealDate) =>
  Reflect.construct(RealDate, parts.length === 0 ? [RealDate.now() + ahead] : parts, target as NewableFunction) as Date;
// Not a class of its own: dates from before it are dates all the same.
const ShiftedDate: DateConstructor = new Proxy(RealDate, {
  construct: (_target, parts: unknown[], made) => newDate(parts, made === ShiftedDate ? RealDate : made),
  apply: () => newDate([]).toString(),
  get: (target, name) => (name === "now" ? () => RealDate.now() + ahead : Reflect.get(target, name)),
});
globalThis.Date = ShiftedDate;

/** The same for whatever clock this process has now: a test may have put another one in. */
const deviation = () => (Date === ShiftedDate ? ahead : Date.now() - RealDate.now());

/** Where the statements of a template's copy are to be told. */
const tellsOf = new WeakMap<Database["db"], string[]>();

/** A copy of the migrated database of this run. It is gone, for whoever still uses it, when it is closed. */
export async function copyTemplate(statements: string[]): Promise<Database> {
  const { server, template } = inject("lambda");
  const name = `world-${process.pid}-${databases++}`;
  await administer(
    `${server}/postgres`,
    `create database ${pg.escapeIdentifier(name)} template ${pg.escapeIdentifier(template)}`,
  );
  const database = openPostgres(`${server}/${name}`, { log: silent });
  tellsOf.set(database.db, statements);
  return {
    ...database,
    async close() {
      await database.close();
      await administer(`${server}/postgres`, `drop database ${pg.escapeIdentifier(name)} with (force)`);
    },
  };
}

export async function startLambdaWorld(options: LambdaWorldOptions): Promise<LambdaWorld> {
  const { log, now } = options;
  const statements = tellsOf.get(options.database.db) ?? options.statements;
  const url = urlOf(options.database);
  const proxy = await startNeonProxy({
    port: Number(new URL(url).port),
    onStatement: (text) => ASIDE.test(text) || statements.push(text),
  });
  const sqs = await startSqs();
  for (const name of names) await sqs.create(name, { visibility_seconds: queues[name].visibility_seconds });
  const folder = mkdtempSync(path.join(tmpdir(), "lambda-world-"));
  const clock = path.join(folder, "clock");
  // A clock of the test's own may stand still.
  let time = "";
  const setClock = () => {
    const set = options.clock ? `@${now().getTime()}` : String(deviation());
    if (set === time) return;
    time = set;
    // At one stroke: a function may be reading.
    writeFileSync(`${clock}.next`, time);
    renameSync(`${clock}.next`, clock);
  };
  setClock();
  const servers = options.web ? serversBehind(options.web) : undefined;
  const certificate = path.join(folder, "certificate.pem");
  if (servers) writeFileSync(certificate, servers.ca);
  const { streams = {}, socketAddress = () => "127.0.0.1" } = options;
  const { max_seconds = Number.POSITIVE_INFINITY } = streams;
  const sandboxes = createSandboxes({
    bundles: inject("lambda").bundles,
    preloads: servers ? ["clock.cjs", "other-servers.cjs"] : ["clock.cjs"],
    environment: {
      LOG_LEVEL: "debug",
      ...options.environment,
      ...sqs.env,
      DATABASE_URL: url,
      DATABASE_DRIVER: "neon",
      NEON_PROXY: proxy.address,
      DELIVERIES_QUEUE_URL: sqs.url("deliveries"),
      SYNCS_QUEUE_URL: sqs.url("syncs"),
      CLOCK_FILE: clock,
      ...(servers ? { OTHERS_PORT: String(servers.port), OTHERS_CA: certificate } : {}),
      ...(max_seconds > 0 && max_seconds < 600 ? { STREAM_MAX_SECONDS: String(Math.ceil(max_seconds)) } : {}),
    },
    onLog(line) {
      written.push(line);
      const told = parseLine(line);
      if (told) log.push(told);
    },
  });
  const answer = apiGateway(
    {
      invoke: (name, event) => sandboxes.invoke<APIGatewayProxyStructuredResultV2>(name, event),
      stream: (...call) => sandboxes.stream("stream", ...call),
    },
    { sourceIp: socketAddress, streams: max_seconds > 0 },
  );
  const app = new Hono<Env>();
  app.use((c) => {
    setClock();
    return answer(c.req.raw);
  });

  let elapsed = 0;
  const elapse = (ms: number) => {
    elapsed += ms;
    ahead += ms;
  };

  /** Ids of messages that were received, or would have been by the world's clock, and have not been worked on. */
  const received: Record<QueueName, Set<string>> = { deliveries: new Set(), syncs: new Set() };

  async function receive(queue: QueueName): Promise<void> {
    const take = (body: string | undefined) => received[queue].add((JSON.parse(body ?? "") as { id: string }).id);
    for (let messages = await sqs.take(queue); messages.length > 0; messages = await sqs.take(queue))
      for (const { Body } of messages) take(Body);
    // A delay is whole seconds, rounded up: what is due by the clock does not wait for the rest.
    const delayed = await sqs.delayed(queue);
    for (const body of delayed) take(body);
    if (delayed.length > 0) await sqs.purge(queue);
  }

  /** Takes out of what was received what is not due later, in the order in which it was stored. */
  async function takeDue(queue: QueueName): Promise<{ ids: string[]; live: number }> {
    const ids = [...received[queue]];
    if (ids.length === 0) return { ids, live: 0 };
    const rows = await options.database.db.select().from(jobs).where(inArray(jobs.id, ids)).orderBy(jobs.seq);
    const live = rows.filter(({ status }) => status === "queued" || status === "running");
    const later = new Set(live.filter((job) => (job.lease_until ?? job.run_at) > now()).map(({ id }) => id));
    for (const id of ids) if (!later.has(id)) received[queue].delete(id);
    const order = [...live.map(({ id }) => id), ...ids.filter((id) => !live.some((job) => job.id === id))];
    return { ids: order.filter((id) => !later.has(id)), live: live.length - later.size };
  }

  /** What is due and has no message: stored by this process, or come due by the clock. */
  async function relayed(context: () => Context): Promise<number> {
    let due = 0;
    await relay(context(), async (wakeUps) => {
      const ready = wakeUps.filter((wakeUp) => wakeUp.delay_seconds === 0);
      for (const { id, queue } of ready) received[queue].add(id);
      due = ready.length;
      return { failed: wakeUps.filter((wakeUp) => wakeUp.delay_seconds > 0).map(({ id }) => id) };
    });
    return due;
  }

  async function consume(queue: QueueName, ids: readonly string[]): Promise<void> {
    setClock();
    const before = written.length;
    const event = sqsEvent(ids.map((id) => ({ id })));
    const { batchItemFailures } = await sandboxes.invoke<SQSBatchResponse>(queue, event);
    if (batchItemFailures.length === 0) return;
    const crash = written
      .slice(before)
      .map(parseLine)
      .find((line) => line?.event === "jobs.crashed");
    throw new Error(crash?.message ?? "A job crashed");
  }

  return {
    app,
    async drain(context) {
      let count = 0;
      for (;;) {
        for (const queue of names) await receive(queue);
        let worked = false;
        for (const queue of names) {
          const { ids, live } = await takeDue(queue);
          count += live;
          for (let at = 0; at < ids.length; at += queues[queue].batch_size) {
            worked = true;
            await consume(queue, ids.slice(at, at + queues[queue].batch_size));
          }
        }
        if (!worked && (await relayed(context)) === 0) return count;
      }
    },
    elapse,
    async close() {
      elapse(-elapsed);
      await sandboxes.close();
      await proxy.stop();
      await sqs.close();
      rmSync(folder, { recursive: true, force: true });
    },
  };
}

/** Where a database is that was opened with `openPostgres`. */
function urlOf({ db }: Database): string {
  const url = (db as unknown as { $client?: { options?: { connectionString?: string } } }).$client?.options?.connectionString;
  if (!url) throw new Error("Lambdas reach a PostgreSQL server only: open the database with openPostgres or openTemplate");
  return url;
}

/** A line of the service's own log as this process's log would have it; null for what the runtime says. */
function parseLine(line: string): LogLine | null {
  if (!line.startsWith("{")) return null;
  const { timestamp: _timestamp, function: _function, ...told } = JSON.parse(line) as LogLine;
  return told.event ? told : null;
}

declare module "vitest" {
  export interface ProvidedContext {
    lambda: { server: string; template: string; bundles: string };
  }
}
