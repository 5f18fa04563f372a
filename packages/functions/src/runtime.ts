import { readFile } from "node:fs/promises";
import type { App, Runtime } from "@board/api/runtime";
import type { LoadAccounts } from "@board/api/sign-in/accounts";
import { createLog } from "@board/api/edge/log";
import type { System } from "@board/core/context/actor";
import { type BodyStorage, createLazyBodyStorage } from "@board/core/context/body-storage";
import type { BodyStorageLocation } from "@board/core/config/body-storage-settings";
import { createLazyFileStorage, type FileStorage } from "@board/core/context/file-storage";
import { type EventBus, createLazyBus } from "@board/core/context/event-bus";
import type { Context } from "@board/core/context/context";
import { createLazyMailer, type Mailer } from "@board/core/context/mailer";
import { createContextFactory } from "@board/core/context/context-factory";
import { openNeon } from "@board/core/db/neon";
import { SERVICE_TIMEOUTS } from "@board/core/db/pool";
import { toAddressRules } from "@board/openclaw/gateway/address-rules";
import { toReceiverRules } from "@board/core/subscription/receiver-rules";
import type { Gateways } from "@board/core/context/gateways";
import { relayAll } from "@board/core/job/relay";
import { createLocalBus } from "@board/core/context/local-event-bus";
import { errorText } from "@board/core/values/log";
import { openOnce } from "@board/core/values/open-once";
import { PARSED_ONCE, parseSettings, type Settings } from "@board/core/config/settings";
import type { HttpClient } from "@board/core/context/http-client";
import { FunctionEnvironment } from "./environment.ts";
import { stream } from "./manifest.ts";
import { createEmfMeter } from "./meter.ts";

const environment = FunctionEnvironment.parse(process.env, PARSED_ONCE);
const parsedSettings = parseSettings(process.env, "lambda");
/** Without a bus, board events are off, so that no jobs are stored that could never be published. */
export const settings: Settings = {
  ...parsedSettings,
  board_events: parsedSettings.board_events && Boolean(environment.EVENT_BUS_NAME),
};
export const log = createLog(settings.log_level, { function: process.env["AWS_LAMBDA_FUNCTION_NAME"] });
export const meter = createEmfMeter(environment.STAGE, log);

const { db } = openNeon(settings.database.url!, {
  max: environment.DATABASE_CONNECTIONS,
  prepare: settings.prepared_statements,
  timeouts: SERVICE_TIMEOUTS,
  log,
  ...(environment.NEON_PROXY ? { proxy: environment.NEON_PROXY } : {}),
});

/** The socket library is loaded on the first call. Most functions call no gateway, and loading it would slow down their start. */
const gateways = createLazyGateways(async () => {
  const [{ createGateways }, { getOrCreateDevice }, resolve] = await Promise.all([
    import("@board/openclaw/wire/websocket"),
    import("@board/openclaw/host/device-key"),
    getNameResolver(),
  ]);
  return createGateways({
    resolve,
    device: () => getOrCreateDevice({ db, settings }),
    settings: toAddressRules(settings),
  });
});

function createLazyGateways(open: () => Promise<Gateways>): Gateways {
  let opened: Promise<Gateways> | undefined;
  const opening = openOnce(() => (opened = open()));
  return {
    hello: async (...call) => (await opening()).hello(...call),
    request: async (...call) => (await opening()).request(...call),
    close: async () => (await opened?.catch(() => undefined))?.close(),
  };
}

/** Returns the only resolver of this sandbox, since it limits the look-ups of all invocations together. */
const getNameResolver = openOnce(async () => (await import("@board/core/dns/resolver")).createNameResolver(settings.budgets));

/** Returns the HTTP client, which is loaded on the first request. */
const getWebClient = openOnce(async () => {
  const [{ createHttpClient, locateAllowedReceiver, locatePublicHost }, resolve] = await Promise.all([
    import("@board/core/http/https-client"),
    getNameResolver(),
  ]);
  const locateReceiver = locateAllowedReceiver(resolve, toReceiverRules(settings));
  return createHttpClient({ locate: locatePublicHost(resolve), locateReceiver });
});

const http: HttpClient = {
  get: async (...call) => (await getWebClient()).get(...call),
  post: async (...call) => (await getWebClient()).post(...call),
  checkReceiver: async (...call) => (await getWebClient()).checkReceiver(...call),
};

/** The bus is loaded when the first event is published. Without EVENT_BUS_NAME, events that are still queued are dropped. */
const bus: EventBus = environment.EVENT_BUS_NAME ? openEventBus(environment.EVENT_BUS_NAME) : createLocalBus();

function openEventBus(name: string): EventBus {
  return createLazyBus(async () => (await import("./event-bus.ts")).createEventBus({ name }));
}

/** The storage of bodies is loaded when a body is read or moved. */
const bodies = openBodyStorage(settings.body_storage?.place);

function openBodyStorage(place: BodyStorageLocation | undefined): BodyStorage | null {
  if (place?.kind !== "bucket") return null;
  return createLazyBodyStorage(async () => (await import("./body-bucket.ts")).createBodyBucket(place));
}

/** Files of tasks are in the same bucket as the bodies of webhook payloads. */
const files = openFileStorage(settings.body_storage?.place);

function openFileStorage(place: BodyStorageLocation | undefined): FileStorage | null {
  if (place?.kind !== "bucket") return null;
  return createLazyFileStorage(async () => (await import("./file-bucket.ts")).createFileBucket(place));
}

/** Opens the mailer, whose library is loaded when the first mail is sent. */
function openMailer(): Mailer | null {
  const mail = settings.mail;
  if (!mail) return null;
  return createLazyMailer(async () => (await import("@board/core/mail/smtp")).createSmtpMailer(mail));
}

const createContext = createContextFactory({
  db,
  gateways,
  http,
  bus,
  bodies,
  files,
  mail: openMailer(),
  settings,
  now: () => new Date(),
  log,
  meter,
});

export const createSystemContext = (): Context<System> => createContext({ type: "system" });

/**
 * Limits the time that a request spends on its relay to about 0.3 s. Deleting an agent with many tasks can leave thousands of
 * wake-ups.
 */
const MAX_BATCHES_PER_REQUEST = 20;

/** Returns the only sender of this sandbox, so that all invocations share one SQS client with its connections. */
const getWakeUpSender = openOnce(async () => (await import("./queue.ts")).createWakeUpSender(environment.QUEUE_URLS));

/** Sends the due wake-ups. Never throws: if the queue is unreachable, the schedule sends them later. */
export async function relayJobs(ctx: Context, maxBatches?: number): Promise<void> {
  try {
    // The AWS SDK takes 50 ms to load, so it is loaded only when there is something to send.
    await relayAll(ctx, async (wakeUps) => (await getWakeUpSender())(wakeUps, ctx.log), ctx.pendingWakeups, maxBatches);
  } catch (error) {
    ctx.log.error("jobs.relay_failed", errorText(error));
  }
}

/**
 * Writes the recorded metrics before the response leaves. The meter belongs to the process, so this relies on Lambda
 * sending one request at a time to each sandbox.
 */
export const withMetricFlush =
  (fetch: App["fetch"]): App["fetch"] =>
  async (...request) => {
    const response = await fetch(...request);
    await meter.flush();
    return response;
  };

/** The library for accounts is loaded when a person signs in or uses a session. */
const openAccounts: LoadAccounts = async () =>
  (await import("@board/accounts/accounts")).openAccounts(settings, () => createContext({ type: "public" }));

const NEVER_ABORTED = new AbortController().signal;

export const runtime: Runtime = {
  settings,
  createContext: () => createContext({ type: "public" }),
  relay: (ctx) => relayJobs(ctx, MAX_BATCHES_PER_REQUEST),
  peerAddress: (c) =>
    (c.env as { event?: { requestContext?: { http?: { sourceIp?: string } } } }).event?.requestContext?.http?.sourceIp ?? null,
  ...(settings.auth.mode === "accounts" && { openAccounts }),
  readAsset: (name) => readFile(new URL(`docs/${name}`, import.meta.url)),
  readConsoleFile: (name) => readFile(new URL(`console/${name}`, import.meta.url)),
  // API Gateway buffers responses, so a stream ends with its first events and its client reconnects for more.
  streams: { max_seconds: 0, hold_seconds: stream.hold_seconds, count_in: "database", shutdown_signal: NEVER_ABORTED },
};

/** Creates the runtime for streamed responses, which end after `max_seconds`. */
export const createStreamingRuntime = (max_seconds: number): Runtime => ({
  ...runtime,
  streams: { max_seconds, count_in: "database", shutdown_signal: NEVER_ABORTED },
});

/**
 * Creates the runtime of the stream server. The server notices when a client disconnects, so its streams need no time limit. All
 * streams share one process, so the budgets of a local server apply.
 */
export function createServerRuntime(shutdown_signal: AbortSignal): Runtime {
  const serverSettings = { ...settings, budgets: parseSettings(process.env, "local").budgets };
  return {
    ...runtime,
    settings: serverSettings,
    createContext: () => ({ ...runtime.createContext(), settings: serverSettings }),
    peerAddress: (c) => (c.env as { incoming?: { socket: { remoteAddress?: string } } }).incoming?.socket.remoteAddress ?? null,
    streams: { max_seconds: Number.POSITIVE_INFINITY, shutdown_signal },
  };
}
