/**
 * A process of the service as the tests kill it: app, consumer and sweeps over a real database, with the parent process in
 * the place of the internet in front and of the queue behind. It does what it is told to, one thing or many at once.
 */
import { countFrom, type KillAt, point } from "./points.ts";
import { writeSync } from "node:fs";
import { flushCompileCache } from "node:module";
import { createApp, type Runtime } from "@board/api/app";
import { endpoints } from "@board/api/groups";
import type { Actor } from "@board/core/actor";
import type { Context } from "@board/core/context";
import { openPostgres } from "@board/core/db/postgres";
import { deliver, JobCrashed } from "@board/core/deliver";
import { readDevice } from "@board/core/gateway/device-key";
import { createGateways } from "@board/core/gateway/websocket";
import { relayAll, type Send, type WakeUp } from "@board/core/job/job";
import { createLocalBus } from "@board/core/local-bus";
import { errorText, type Log, silent } from "@board/core/log";
import { createOutbox } from "@board/core/outbox";
import { runScheduled, type ScheduleName } from "@board/core/schedule";
import { parseSettings } from "@board/core/settings";
import { createWeb } from "@board/core/web/https";

export interface Start {
  database_url: string;
  environment: Record<string, string>;
  /** By how much its clock is ahead. */
  ahead_ms: number;
  kill_at: KillAt;
}

/** What the parent asks for, each with a number that the answer repeats. */
export type Order =
  | { do: "begin"; start: Start }
  | { do: "request"; method: string; path: string; headers: Record<string, string>; body: string | null }
  | { do: "wake"; job_id: string }
  | { do: "schedule"; name: ScheduleName }
  | { do: "clock"; ahead_ms: number }
  | { do: "end" };

export interface Reply {
  status: number;
  text: string;
}

/** What the queue did not take; null when it has not answered. */
export type Refused = string[] | null;

export type FromParent = { number: number; order: Order } | { taken: number; failed: Refused };
export type ToParent =
  | { number: number; value: unknown }
  | { number: number; error: string }
  | { send: number; wakeUps: WakeUp[] }
  | { ready: true };

/** Of a request; as many batches as on Lambda. */
const REQUEST_BATCHES = 20;
const NEVER = new AbortController().signal;

const tell = (message: ToParent) => void process.send!(message);
const sending = new Map<number, (failed: Refused) => void>();
let sends = 0;

/** The queue is the parent's, and survives. */
const send: Send = async (wakeUps) => {
  point("queue, before");
  const { promise, resolve } = Promise.withResolvers<Refused>();
  sending.set(++sends, resolve);
  tell({ send: sends, wakeUps });
  const failed = await promise;
  point("queue, after");
  if (failed === null) throw new Error("The queue does not answer");
  return { failed };
};

/** What goes wrong unexpectedly is said, so that tests fail of it. */
const log: Log = {
  ...silent,
  error: (event, message, fields) => void writeSync(2, `error ${event}: ${message} ${JSON.stringify(fields)}\n`),
};

function open({ database_url, environment, ...start }: Start) {
  let { ahead_ms } = start;
  const settings = parseSettings(environment, "local");
  const database = openPostgres(database_url, { max: 8, log });
  const { db } = database;
  const gateways = createGateways({
    device: () => readDevice({ db, settings }),
    settings: { allowed_hosts: settings.gateway_allowed_hosts, private_addresses_allowed: settings.private_gateways_allowed },
  });
  const base = { db, gateways, web: createWeb(), bus: createLocalBus(), settings, log, meter: { record() {} }, trace_id: null };
  const now = () => new Date(Date.now() + ahead_ms);
  const contextFor = <A extends Actor>(actor: A): Context<A> => ({ ...base, now, actor, outbox: createOutbox() });
  const system = () => contextFor({ type: "system" } as const);
  const relay = (ctx: Context, most?: number) =>
    relayAll(ctx, send, ctx.outbox, most).catch((error: unknown) => log.error("jobs.relay_failed", errorText(error)));
  const runtime: Runtime = {
    settings,
    context: () => contextFor({ type: "public" }),
    relay: (ctx) => relay(ctx, REQUEST_BATCHES),
    socketAddress: () => "127.0.0.1",
    asset: () => Promise.reject(new Error("There are no assets here")),
    streams: { max_seconds: 0, stopping: NEVER },
  };
  const app = createApp(runtime, endpoints);
  return {
    setClock: (ms: number) => void (ahead_ms = ms),
    async request({ method, path, headers, body }: Extract<Order, { do: "request" }>): Promise<Reply> {
      const answer = await app.request(path, { method, headers, body });
      return { status: answer.status, text: await answer.text() };
    },
    /** As a record of the queue; false when it has to come back. */
    async wake(job_id: string): Promise<boolean> {
      const ctx = system();
      const done = await deliver(ctx, job_id).then(
        () => true,
        (error: unknown) => {
          if (!(error instanceof JobCrashed)) log.error("jobs.not_taken", errorText(error));
          return false;
        },
      );
      await relay(ctx);
      return done;
    },
    async schedule(name: ScheduleName): Promise<void> {
      const ctx = system();
      await runScheduled(ctx, name);
      await relay(ctx);
    },
    async close(): Promise<void> {
      await gateways.close();
      await database.close();
    },
  };
}

let service: ReturnType<typeof open> | undefined;

async function follow(order: Order): Promise<unknown> {
  if (order.do === "begin") {
    countFrom(order.start.kill_at);
    service = open(order.start);
    return null;
  }
  if (!service) throw new Error("Nothing has begun yet");
  switch (order.do) {
    case "request":
      return service.request(order);
    case "wake":
      return service.wake(order.job_id);
    case "schedule":
      return service.schedule(order.name);
    case "clock":
      return service.setClock(order.ahead_ms);
    case "end":
      return service.close();
  }
}

process.on("message", (message: FromParent) => {
  if ("taken" in message) {
    sending.get(message.taken)?.(message.failed);
    sending.delete(message.taken);
    return;
  }
  const { number } = message;
  follow(message.order).then(
    (value) => tell({ number, value: value ?? null }),
    (error: unknown) => tell({ number, error: error instanceof Error ? (error.stack ?? error.message) : String(error) }),
  );
});
// A parent that is gone needs nothing any more.
process.on("disconnect", () => process.exit());
// Written at an orderly end otherwise, which few of these have.
flushCompileCache();
tell({ ready: true });
