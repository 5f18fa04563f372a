import { readFile } from "node:fs/promises";
import path from "node:path";
import { setTimeout as pause } from "node:timers/promises";
import { fileURLToPath } from "node:url";
import type { Accounts } from "@board/accounts/accounts";
import { createApp } from "@board/api/app";
import type { Runtime } from "@board/api/runtime";
import { endpoints } from "@board/api/groups";
import type { Context } from "@board/core/context/context";
import { openChangeChannel } from "@board/core/db/change-channel";
import type { Database } from "@board/core/db/database";
import { pollWaits } from "@board/core/inbox/wait";
import { recoverJobs } from "@board/core/job/relay";
import { errorText, type Log } from "@board/core/values/log";
import { toServiceUrl } from "@board/core/config/service-url";
import { createPendingWakeups } from "@board/core/context/pending-wakeups";
import type { Settings } from "@board/core/config/settings";
import { buildConsoleIfMissing, readConsoleFile } from "./console-files.ts";
import { startConsumer } from "./consumer.ts";
import { openContexts } from "./contexts.ts";
import { databaseFolder, isMissing, openDatabase } from "./database.ts";
import { lockFolder } from "./folder-lock.ts";
import { startLeaseTimer } from "./lease-timer.ts";
import { listen, type Listener } from "./listener.ts";
import type { Telemetry } from "./telemetry/telemetry.ts";
import { startPresence } from "./presence.ts";
import { startSchedules } from "./scheduler.ts";
import { clearUntrustedProxies, recordUntrustedProxy } from "./untrusted-proxies.ts";
import { announceService, withdrawService } from "./running-service.ts";

interface LocalServer {
  url: string;
  /** The token of the link by which the owner signs in for the first time. Only accounts mode has it. */
  first_link: string | null;
  /** Tells balancers that this process ends soon. */
  drain(this: void): void;
  stop(): Promise<void>;
}

/** Time for deliveries to finish. Afterwards calls to gateways are aborted. */
const DELIVERY_GRACE_MS = 3_000;
/** Interval at which a process looks for jobs that stopped or killed processes have left. */
const LOOK_MS = 10_000;

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
    const url = toServiceUrl(listener.url, settings.auth.mode);
    onListening(url, isFirst);
    if (isFirst) await createDatabase(databaseFolder(settings), log);
    const database = await openDatabase(settings, log);
    cleanups.push(() => database.close());
    await database.migrate();
    // With PORT=0, the address that agents call is known only now.
    const service_url = settings.base_url ?? url;
    const first_link = await startService({ ...settings, service_url }, log, database, listener, cleanups);
    if (folder !== null) announceService(folder, listener.url);
    return { url, first_link, drain: () => listener.drain(), stop };
  } catch (error) {
    await stop();
    throw error;
  }
}

/**
 * Creates the database from the template, which is fast. Errors are only logged, because opening the database creates it too and
 * reports the problem.
 */
async function createDatabase(folder: string, log: Log): Promise<void> {
  const { createDatabaseFolder } = await import("./template-database.ts");
  await createDatabaseFolder(folder).catch((error: unknown) =>
    log.warn("database.template_failed", `The template of the database was not used: ${errorText(error)}`),
  );
}

/** Loads OpenTelemetry only if the settings name a collector of traces or metrics, because it takes time and memory. */
async function openTelemetryIfCollected(settings: Settings, process_id: string, log: Log): Promise<Telemetry | null> {
  const { metrics_port, otlp_endpoint } = settings.telemetry;
  if (metrics_port === null && otlp_endpoint === null) return null;
  return (await import("./telemetry/telemetry.ts")).openTelemetry(settings, process_id, log);
}

async function startService(
  settings: Settings,
  log: Log,
  { db }: Database,
  listener: Listener,
  cleanups: (() => unknown)[],
): Promise<string | null> {
  const process_id = crypto.randomUUID();
  const telemetry = await openTelemetryIfCollected(settings, process_id, log);
  if (telemetry) cleanups.push(() => telemetry.close());
  const { createContext, gateways } = openContexts(settings, { db, log, telemetry, cleanups });
  const createSystemContext = () => createContext({ type: "system" } as const);
  telemetry?.observeJobs(createSystemContext);

  await recoverJobs(createSystemContext(), { alone: settings.database.driver === "pglite" });
  // An embedded database has only one process. A serverless database should sleep when it is idle, which the writes of presences
  // would prevent.
  const isShared = settings.database.driver === "postgres";
  if (isShared) cleanups.push(await startPresence(createSystemContext, process_id));
  const changes = settings.database_notify ? openChangeChannel(settings.database.url!, log) : undefined;
  if (changes) cleanups.push(() => changes.close());
  changes?.listen((organizations) => pollWaits(createSystemContext(), organizations));
  const consumer = startConsumer(createSystemContext, changes?.note);
  cleanups.push(async () => {
    const idle = consumer.stop();
    await Promise.race([idle, pause(DELIVERY_GRACE_MS, undefined, { ref: false })]);
    // A gateway that does not respond must not delay the shutdown. Its calls fail, and their jobs are retried later.
    await gateways.close();
    await idle;
  });
  // A serverless database should sleep when it is idle, so there only the schedule ends the leases of dead agents.
  if (settings.database.driver !== "neon") cleanups.push(startLeaseTimer(createSystemContext, consumer.requestRelay));
  if (isShared) {
    const looking = setInterval(() => consumer.requestRelay(createPendingWakeups(true)), LOOK_MS).unref();
    cleanups.push(() => clearInterval(looking));
  }
  const stopping = new AbortController();
  const createPublicContext = () => createContext({ type: "public" } as const);
  const accounts = settings.auth.mode === "accounts" ? await openAccounts(settings, createPublicContext) : null;
  const runtime: Runtime = {
    settings,
    ...(accounts && { openAccounts: async () => accounts }),
    shares_connection: settings.database.driver === "pglite",
    createContext: createPublicContext,
    relay: async (ctx) => consumer.requestRelay(ctx.pendingWakeups),
    peerAddress: (c) => (c.env as { incoming?: { socket: { remoteAddress?: string } } }).incoming?.socket.remoteAddress ?? null,
    recordUntrustedProxy: (address) => recordUntrustedProxy(settings.data_dir, address),
    readAsset: (name) => readFile(fileURLToPath(import.meta.resolve(`swagger-ui-dist/${name}`))),
    readConsoleFile,
    streams: {
      max_seconds: Number.POSITIVE_INFINITY,
      shutdown_signal: stopping.signal,
      ...(isShared ? { count_in: "database", process_id } : {}),
      ...(telemetry && { onCount: telemetry.onStreamCount }),
    },
    ...(changes && { changes }),
  };
  clearUntrustedProxies(settings.data_dir);
  cleanups.push(buildConsoleIfMissing(log));
  const app = createApp(runtime, endpoints);
  listener.serve((request, env) => app.fetch(request, env));
  cleanups.push(() => listener.close());
  cleanups.push(() => stopping.abort());
  cleanups.push(
    startSchedules({
      createContext: createSystemContext,
      requestRelay: consumer.requestRelay,
      process_id: settings.database.driver === "pglite" ? null : process_id,
      ...(telemetry && { onTick: telemetry.onTick }),
    }),
  );
  consumer.requestRelay(createPendingWakeups(true));
  return accounts?.createFirstLink() ?? null;
}

/** Loads the library for accounts, which takes time and memory, so other modes do not load it. */
async function openAccounts(settings: Settings, createContext: () => Context): Promise<Accounts> {
  return (await import("@board/accounts/accounts")).openAccounts(settings, createContext);
}
