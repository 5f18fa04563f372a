/**
 * The process of the service that the tests kill: app, consumer and schedules on a PostgreSQL database. The parent process sends
 * its requests and acts as its queue. It executes the parent's commands, also concurrently.
 */
import { setFatalPoint, type KillAt, crashPoint } from "./crash-points.ts";
import { writeSync } from "node:fs";
import { flushCompileCache } from "node:module";
import { createApp } from "@board/api/app";
import type { Runtime } from "@board/api/runtime";
import { endpoints } from "@board/api/groups";
import type { Context } from "@board/core/context/context";
import { createContextFactory } from "@board/core/context/context-factory";
import { openPostgres } from "@board/core/db/postgres";
import { deliverMessage } from "@board/api/work/deliver-message";
import { createNameResolver } from "@board/core/dns/resolver";
import { getOrCreateDevice } from "@board/openclaw/host/device-key";
import { createGateways } from "@board/openclaw/wire/websocket";
import { toAddressRules } from "@board/openclaw/gateway/address-rules";
import { toReceiverRules } from "@board/core/subscription/receiver-rules";
import { relayAll, type Send, type WakeUp } from "@board/core/job/relay";
import { createLocalBus } from "@board/core/context/local-event-bus";
import { errorText, type Log, silentLog } from "@board/core/values/log";
import { runScheduled, type ScheduleName } from "@board/api/work/schedules";
import { parseSettings } from "@board/core/config/settings";
import type { HttpClient } from "@board/core/context/http-client";
import { createHttpClient, locateAllowedReceiver, locatePublicHost } from "@board/core/http/https-client";

export interface StartOptions {
  database_url: string;
  environment: Record<string, string>;
  /** How far its clock is ahead. */
  ahead_ms: number;
  kill_at: KillAt;
}

/** The commands of the parent. The answer repeats the number of the command. */
export type Command =
  | { do: "begin"; start: StartOptions }
  | { do: "request"; method: string; path: string; headers: Record<string, string>; body: string | null }
  | { do: "wake"; job_id: string }
  | { do: "schedule"; name: ScheduleName }
  | { do: "clock"; ahead_ms: number }
  | { do: "end" };

export interface Reply {
  status: number;
  headers: Record<string, string>;
  text: string;
}

/** The ids that the queue refused; null when it did not answer. */
export type RefusedIds = string[] | null;

export type FromParent = { number: number; order: Command } | { taken: number; failed: RefusedIds };
export type ToParent =
  | { number: number; value: unknown }
  | { number: number; error: string }
  | { send: number; wakeUps: WakeUp[] }
  | { ready: true };

/** The number of batches per request, as on Lambda. */
const REQUEST_BATCHES = 20;
const NEVER = new AbortController().signal;

const sendToParent = (message: ToParent) => void process.send!(message);
const pending_sends = new Map<number, (failed: RefusedIds) => void>();
let sends = 0;

/** Sends wake-ups to the queue, which is in the parent process, so that it survives when this process is killed. */
const send: Send = async (wakeUps) => {
  crashPoint("queue, before");
  const { promise, resolve } = Promise.withResolvers<RefusedIds>();
  pending_sends.set(++sends, resolve);
  sendToParent({ send: sends, wakeUps });
  const failed = await promise;
  crashPoint("queue, after");
  if (failed === null) throw new Error("The queue does not answer");
  return { failed };
};

/** Unexpected errors are written to standard error, so that the tests fail. */
const log: Log = {
  ...silentLog,
  error: (event, message, fields) => void writeSync(2, `error ${event}: ${message} ${JSON.stringify(fields)}\n`),
};

/** Divides the time limits, so that the service gives up on silent receivers sooner. */
const FASTER = 20;

/** Adds crash points before and after a message to a receiver. */
const withCrashPoints = (client: HttpClient): HttpClient => ({
  ...client,
  async post(url, request, { connect_ms, total_ms, max_bytes }) {
    crashPoint("receiver, before");
    const limits = { connect_ms: connect_ms / FASTER, total_ms: total_ms / FASTER, max_bytes };
    return client.post(url, request, limits).finally(() => crashPoint("receiver, after"));
  },
});

function open({ database_url, environment, ...start }: StartOptions) {
  let { ahead_ms } = start;
  const settings = parseSettings(environment, "local");
  const database = openPostgres(database_url, { max: 8, log });
  const { db } = database;
  const resolve = createNameResolver(settings.budgets);
  const gateways = createGateways({
    resolve,
    device: () => getOrCreateDevice({ db, settings }),
    settings: toAddressRules(settings),
  });
  const createContext = createContextFactory({
    db,
    gateways,
    http: withCrashPoints(
      createHttpClient({
        locate: locatePublicHost(resolve),
        locateReceiver: locateAllowedReceiver(resolve, toReceiverRules(settings)),
      }),
    ),
    bus: createLocalBus(),
    bodies: null,
    files: null,
    mail: null,
    settings,
    now: () => new Date(Date.now() + ahead_ms),
    log,
    meter: { record() {} },
  });
  const system = () => createContext({ type: "system" } as const);
  const relay = (ctx: Context, most?: number) =>
    relayAll(ctx, send, ctx.pendingWakeups, most).catch((error: unknown) => log.error("jobs.relay_failed", errorText(error)));
  const runtime: Runtime = {
    settings,
    createContext: () => createContext({ type: "public" }),
    relay: (ctx) => relay(ctx, REQUEST_BATCHES),
    peerAddress: () => "127.0.0.1",
    readConsoleFile: () => Promise.reject(new Error("There are no assets here")),
    readAsset: () => Promise.reject(new Error("There are no assets here")),
    streams: { max_seconds: 0, shutdown_signal: NEVER },
  };
  const app = createApp(runtime, endpoints);
  return {
    setClock: (ms: number) => void (ahead_ms = ms),
    async request({ method, path, headers, body }: Extract<Command, { do: "request" }>): Promise<Reply> {
      const answer = await app.request(path, { method, headers, body });
      return { status: answer.status, headers: Object.fromEntries(answer.headers), text: await answer.text() };
    },
    /** Processes a message of the queue. Returns false when it has to be delivered again. */
    async wake(job_id: string): Promise<boolean> {
      const ctx = system();
      const done = (await deliverMessage(ctx, job_id)) === "handled";
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

async function execute(order: Command): Promise<unknown> {
  if (order.do === "begin") {
    setFatalPoint(order.start.kill_at);
    service = open(order.start);
    return null;
  }
  if (!service) throw new Error("The service has not been started");
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
    pending_sends.get(message.taken)?.(message.failed);
    pending_sends.delete(message.taken);
    return;
  }
  const { number } = message;
  execute(message.order).then(
    (value) => sendToParent({ number, value: value ?? null }),
    (error: unknown) => sendToParent({ number, error: error instanceof Error ? (error.stack ?? error.message) : String(error) }),
  );
});
// The parent has exited, so this process exits as well.
process.on("disconnect", () => process.exit());
// Node writes this cache at a clean exit, which few of these processes have.
flushCompileCache();
sendToParent({ ready: true });
