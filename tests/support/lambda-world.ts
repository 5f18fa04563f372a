/** The parts of a world that replace the app in this process when the tests run on Lambdas (`npm run test:lambda`). */
import { mkdtempSync, renameSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import path from "node:path";
import type { Env } from "@board/api/runtime";
import type { Context } from "@board/core/context/context";
import type { Database } from "@board/core/db/database";
import { jobs } from "@board/core/schema/all-tables";
import { relay } from "@board/core/job/relay";
import type { QueueName } from "@board/core/job/kinds";
import { deliveries, outbound, probes, syncs } from "@board/functions/manifest";
import type { APIGatewayProxyStructuredResultV2, SQSBatchResponse } from "aws-lambda";
import { inArray } from "drizzle-orm";
import { Hono } from "hono";
import { inject } from "vitest";
import { apiGateway } from "./api-gateway.ts";
import { sqsEvent } from "./aws-events.ts";
import { startNeonProxy } from "./neon-proxy.ts";
import { findWebRedirect } from "./web-redirect.ts";
import { createLambdaPool } from "./lambda-pool.ts";
import { isHashingShort } from "./real-hashing.ts";
import { startSqs } from "./sqs.ts";
import { type CopyOptions, openCopy } from "./test-database.ts";
import type { LogLine, WorldOptions } from "./world.ts";

interface LambdaWorld {
  app: Hono<Env>;
  /** Runs every job that has a wake-up or is due, through the consumers; see `World.drain`. */
  drain(context: () => Context): Promise<number>;
  /**
   * Advances the clocks of this process and of the functions together. The fake hosts and the queues run in this process, and
   * accept the signatures of functions only while the clocks agree.
   */
  elapse(ms: number): void;
  close(): Promise<void>;
}

interface LambdaWorldOptions extends Pick<WorldOptions, "clock" | "streams" | "socketAddress" | "web"> {
  environment: Record<string, string>;
  database: Database;
  log: LogLine[];
  statements: string[];
  now(this: void): Date;
}

/** The output of the functions of all worlds since the start of the test. */
export const functionOutput: string[] = [];

const queues = { deliveries, syncs, probes, outbound };
const names = Object.keys(queues) as QueueName[];
/** Statements outside of operations: those that control transactions, the driver's check and the relay after the answer. */
const IGNORED_STATEMENTS =
  /^(begin|commit|rollback|savepoint|release savepoint|select 1$|set statement_timeout|\s*update "jobs" set sent_at = )/i;

const RealDate = Date;
/** How many milliseconds this process is ahead. */
let ahead_ms = 0;
const newDate = (parts: unknown[], target: unknown = RealDate) =>
  Reflect.construct(RealDate, parts.length === 0 ? [RealDate.now() + ahead_ms] : parts, target as NewableFunction) as Date;
// A proxy rather than a subclass, so that older dates are still instances of Date.
const ShiftedDate: DateConstructor = new Proxy(RealDate, {
  construct: (_target, parts: unknown[], newTarget) => newDate(parts, newTarget === ShiftedDate ? RealDate : newTarget),
  apply: () => newDate([]).toString(),
  get: (target, name) => (name === "now" ? () => RealDate.now() + ahead_ms : Reflect.get(target, name)),
});
globalThis.Date = ShiftedDate;

/** Shifts the current clock of this process, which a test may have replaced. */
const clockOffset = () => (Date === ShiftedDate ? ahead_ms : Date.now() - RealDate.now());

/** For each copy of the template, the list that receives its statements. */
const statementLogs = new WeakMap<Database["db"], string[]>();

/** Opens a copy of the migrated database. The statements of the functions are recorded, and not those of this process. */
export async function openLambdaCopy(statements: string[], options: CopyOptions): Promise<Database> {
  const database = await openCopy([], options);
  statementLogs.set(database.db, statements);
  return database;
}

export async function startLambdaWorld(options: LambdaWorldOptions): Promise<LambdaWorld> {
  const { log, now } = options;
  const statements = statementLogs.get(options.database.db) ?? options.statements;
  const url = urlOf(options.database);
  const proxy = await startNeonProxy({
    port: Number(new URL(url).port),
    onStatement: (text) => IGNORED_STATEMENTS.test(text) || statements.push(text),
  });
  const sqs = await startSqs();
  for (const name of names) await sqs.create(name, { visibility_seconds: queues[name].visibility_seconds });
  const folder = mkdtempSync(path.join(tmpdir(), "lambda-world-"));
  const clock = path.join(folder, "clock");
  // What the clock file says: `@` and a fixed time if the test sets the clock, else the offset from the real clock.
  let time = "";
  const setClock = () => {
    const set = options.clock ? `@${now().getTime()}` : String(clockOffset());
    if (set === time) return;
    time = set;
    // A function may be reading the file, so the file is replaced by a rename, which is atomic.
    writeFileSync(`${clock}.next`, time);
    renameSync(`${clock}.next`, clock);
  };
  setClock();
  const servers = options.web ? findWebRedirect(options.web) : undefined;
  const certificate = path.join(folder, "certificate.pem");
  if (servers) writeFileSync(certificate, servers.ca);
  const { streams = {}, socketAddress = () => "127.0.0.1" } = options;
  const { max_seconds = Number.POSITIVE_INFINITY } = streams;
  const sandboxes = createLambdaPool({
    bundles: inject("bundles"),
    preloads: ["clock.cjs", ...(isHashingShort() ? ["short-hashing.cjs"] : []), ...(servers ? ["web-redirect.cjs"] : [])],
    environment: {
      LOG_LEVEL: "debug",
      ...options.environment,
      ...sqs.env,
      DATABASE_URL: url,
      DATABASE_DRIVER: "neon",
      NEON_PROXY: proxy.address,
      QUEUE_URLS: names.map((name) => `${name}=${sqs.url(name)}`).join(","),
      CLOCK_FILE: clock,
      ...(servers ? { OTHERS_PORT: String(servers.port), OTHERS_CA: certificate } : {}),
      ...(max_seconds > 0 && Number.isFinite(max_seconds) ? { STREAM_MAX_SECONDS: String(Math.ceil(max_seconds)) } : {}),
    },
    onLog(line) {
      functionOutput.push(line);
      const entry = parseLine(line);
      if (entry) log.push(entry);
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
    ahead_ms += ms;
  };

  /** The job ids of received messages. An id stays here until its job is due by the world's clock and is handed to a consumer. */
  const received: Record<QueueName, Set<string>> = {
    deliveries: new Set(),
    syncs: new Set(),
    probes: new Set(),
    outbound: new Set(),
  };

  async function receive(queue: QueueName): Promise<void> {
    const addId = (body: string | undefined) => received[queue].add((JSON.parse(body ?? "") as { id: string }).id);
    for (let messages = await sqs.take(queue); messages.length > 0; messages = await sqs.take(queue))
      for (const { Body } of messages) addId(Body);
    // Delays are rounded up to whole seconds, so a due job must not wait for the remainder.
    const delayed = await sqs.delayed(queue);
    for (const body of delayed) addId(body);
    if (delayed.length > 0) await sqs.purge(queue);
  }

  /** Removes and returns the received ids of jobs that are due, in the order of their creation. */
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

  /** Returns the due jobs without a message: stored by this process, or due after the clock moved. */
  async function relayDue(context: () => Context): Promise<number> {
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
    const before = functionOutput.length;
    const event = sqsEvent(ids.map((id) => ({ id })));
    const { batchItemFailures } = await sandboxes.invoke<SQSBatchResponse>(queue, event);
    if (batchItemFailures.length === 0) return;
    const crash = functionOutput
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
        if (!worked && (await relayDue(context)) === 0) return count;
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

/** Returns the URL of a database that was opened with `openPostgres`. */
function urlOf({ db }: Database): string {
  const url = (db as unknown as { $client?: { options?: { connectionString?: string } } }).$client?.options?.connectionString;
  if (!url) throw new Error("Lambdas reach a PostgreSQL server only: open the database with openPostgres");
  return url;
}

/** Converts a log line of a function to the log of this process; null for output of the runtime. */
function parseLine(line: string): LogLine | null {
  if (!line.startsWith("{")) return null;
  const { timestamp: _timestamp, function: _function, ...entry } = JSON.parse(line) as LogLine;
  return entry.event ? entry : null;
}

declare module "vitest" {
  export interface ProvidedContext {
    bundles: string;
  }
}
