import { readFile } from "node:fs/promises";
import path from "node:path";
import { setTimeout as pause } from "node:timers/promises";
import { fileURLToPath } from "node:url";
import { createApp } from "@board/api/app";
import type { Runtime } from "@board/api/runtime";
import { endpoints } from "@board/api/groups";
import type { Context } from "@board/core/context/context";
import { createContextFactory } from "@board/core/context/context-factory";
import type { Database } from "@board/core/db/database";
import { createNameResolver } from "@board/core/dns/resolver";
import { getOrCreateDevice } from "@board/openclaw/host/device-key";
import { createGateways } from "@board/openclaw/wire/websocket";
import { toAddressRules } from "@board/openclaw/gateway/address-rules";
import { toReceiverRules } from "@board/core/subscription/receiver-rules";
import { recoverJobs } from "@board/core/job/job";
import { errorText, type Log } from "@board/core/values/log";
import { createLogMeter } from "@board/core/context/meter";
import { createPendingWakeups } from "@board/core/context/pending-wakeups";
import { runScheduled, type ScheduleName } from "@board/api/work/schedules";
import type { Settings } from "@board/core/config/settings";
import { createHttpClient, locateAllowedReceiver, locatePublicHost } from "@board/core/http/https-client";
import { schedules } from "@board/functions/manifest";
import { Cron } from "croner";
import { openBodyStorage } from "./body-storage.ts";
import { buildConsoleIfMissing, readConsoleFile } from "./console-files.ts";
import { type Consumer, startConsumer } from "./consumer.ts";
import { databaseFolder, isMissing, openDatabase } from "./database.ts";
import { openEventBus } from "./event-bus.ts";
import { lockFolder } from "./folder-lock.ts";
import { startLeaseTimer } from "./lease-timer.ts";
import { openMailer } from "./mailer.ts";
import { listen, type Listener, SHUTDOWN_GRACE_MS } from "./listener.ts";
import { clearUntrustedProxies, recordUntrustedProxy } from "./untrusted-proxies.ts";
import { announceService, withdrawService } from "./running-service.ts";

export interface LocalServer {
  url: string;
  stop(): Promise<void>;
}

/** Interval at which a process looks for jobs of processes that were stopped or killed. */
const LOOK_MS = 30_000;

/**
 * Starts the whole service in one process: first the port, then migrations, API, consumer and schedules. `onListening` is called
 * when the port is open, with the address and whether a database must be created.
 */
export async function startServer(
  settings: Settings,
  log: Log,
  onListening: (url: string, isFirst: boolean) => void = () => {},
): Promise<LocalServer> {
  const folder = settings.database.driver === "pglite" ? path.resolve(settings.data_dir) : null;
  const cleanups: (() => unknown)[] = [];
  if (folder !== null) {
    cleanups.push(lockFolder(folder), () => withdrawService(folder));
    withdrawService(folder);
  }
  const stop = async () => {
    for (const step of cleanups.toReversed()) await step();
    cleanups.length = 0;
  };
  try {
    const listener = await listen(settings, log);
    cleanups.push(() => listener.close());
    const isFirst = folder !== null && (await isMissing(databaseFolder(settings)));
    onListening(listener.url, isFirst);
    if (isFirst) await createDatabase(databaseFolder(settings), log);
    const database = await openDatabase(settings, log);
    cleanups.push(() => database.close());
    await database.migrate();
    // With PORT=0, the address that agents call is known only now.
    const service_url = settings.base_url ?? listener.url;
    await startService({ ...settings, service_url }, log, database, listener, cleanups);
    if (folder !== null) announceService(folder, listener.url);
    return { url: listener.url, stop };
  } catch (error) {
    await stop();
    throw error;
  }
}

/**
 * Creates the database quickly. Errors are ignored here, because opening the database creates it too, and then reports the
 * problem.
 */
async function createDatabase(folder: string, log: Log): Promise<void> {
  const { createDatabaseFolder } = await import("./template-database.ts");
  await createDatabaseFolder(folder).catch((error: unknown) =>
    log.warn("database.template_failed", `The template of the database was not used: ${errorText(error)}`),
  );
}

async function startService(
  settings: Settings,
  log: Log,
  { db }: Database,
  listener: Listener,
  cleanups: (() => unknown)[],
): Promise<void> {
  const resolve = createNameResolver(settings.budgets);
  const gateways = createGateways({
    resolve,
    device: () => getOrCreateDevice({ db, settings }),
    settings: toAddressRules(settings),
    log: (event, fields) => log.debug(event, "Gateway connection", fields),
  });
  const mail = openMailer(settings);
  cleanups.push(() => mail?.close());
  const createContext = createContextFactory({
    db,
    gateways,
    http: createHttpClient({
      locate: locatePublicHost(resolve),
      locateReceiver: locateAllowedReceiver(resolve, toReceiverRules(settings)),
    }),
    bus: openEventBus(settings, log),
    bodies: openBodyStorage(settings),
    mail,
    settings,
    now: () => new Date(),
    log,
    meter: createLogMeter(log),
  });
  const createSystemContext = () => createContext({ type: "system" } as const);

  await recoverJobs(createSystemContext(), { alone: settings.database.driver === "pglite" });
  const consumer = startConsumer(createSystemContext);
  cleanups.push(async () => {
    const idle = consumer.stop();
    await Promise.race([idle, pause(SHUTDOWN_GRACE_MS, undefined, { ref: false })]);
    // A gateway that does not respond must not delay the shutdown. Its calls fail, and their jobs are retried later.
    await gateways.close();
    await idle;
  });
  // A serverless database should sleep when it is idle. There, only the schedule returns the tasks of dead agents.
  if (settings.database.driver !== "neon") cleanups.push(startLeaseTimer(createSystemContext, consumer.requestRelay));
  // An embedded database has only one process, and a serverless database should sleep when it is idle.
  if (settings.database.driver === "postgres") {
    const looking = setInterval(() => consumer.requestRelay(createPendingWakeups(true)), LOOK_MS).unref();
    cleanups.push(() => clearInterval(looking));
  }
  const stopping = new AbortController();
  const runtime: Runtime = {
    settings,
    shares_connection: settings.database.driver === "pglite",
    createContext: () => createContext({ type: "public" }),
    relay: async (ctx) => consumer.requestRelay(ctx.pendingWakeups),
    peerAddress: (c) => (c.env as { incoming?: { socket: { remoteAddress?: string } } }).incoming?.socket.remoteAddress ?? null,
    recordUntrustedProxy: (address) => recordUntrustedProxy(settings.data_dir, address),
    readAsset: (name) => readFile(fileURLToPath(import.meta.resolve(`swagger-ui-dist/${name}`))),
    readConsoleFile,
    streams: { max_seconds: Number.POSITIVE_INFINITY, shutdown_signal: stopping.signal },
  };
  clearUntrustedProxies(settings.data_dir);
  cleanups.push(buildConsoleIfMissing(log));
  const app = createApp(runtime, endpoints);
  listener.serve((request, env) => app.fetch(request, env));
  cleanups.push(() => listener.close());
  cleanups.push(() => stopping.abort());
  cleanups.push(startSchedules(createSystemContext, consumer.requestRelay));
  consumer.requestRelay(createPendingWakeups(true));
}

/** Runs the schedules of the manifest in this process. */
function startSchedules(system: () => Context<{ type: "system" }>, requestRelay: Consumer["requestRelay"]): () => void {
  const crons = Object.entries(schedules).map(([name, { every_minutes }]) => {
    const pattern = every_minutes < 60 ? `*/${every_minutes} * * * *` : `0 */${every_minutes / 60} * * *`;
    return new Cron(pattern, { protect: true, unref: true }, async () => {
      const ctx = system();
      // `runScheduled` has logged the error, and the next run does the work.
      await runScheduled(ctx, name as ScheduleName).catch(() => {});
      requestRelay(ctx.pendingWakeups);
    });
  });
  return () => crons.forEach((cron) => cron.stop());
}
