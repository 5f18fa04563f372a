import { readFile } from "node:fs/promises";
import type { Server } from "node:http";
import type { Socket } from "node:net";
import path from "node:path";
import { setTimeout as pause } from "node:timers/promises";
import { fileURLToPath } from "node:url";
import { createApp } from "@board/api/app";
import type { Runtime } from "@board/api/runtime";
import { endpoints } from "@board/api/groups";
import type { Context } from "@board/core/context";
import { createContextFactory } from "@board/core/context-factory";
import type { Database } from "@board/core/db/database";
import { createNameResolver } from "@board/core/dns/resolver";
import { getOrCreateDevice } from "@board/core/host/device-key";
import { createGateways } from "@board/core/openclaw/websocket";
import { toAddressRules } from "@board/core/gateway/address-rules";
import { recoverJobs } from "@board/core/job/job";
import type { Log } from "@board/core/log";
import { createLogMeter } from "@board/core/meter";
import { createPendingWakeups } from "@board/core/pending-wakeups";
import { runScheduled, type ScheduleName } from "@board/core/schedule";
import type { Settings } from "@board/core/settings";
import { createHttpClient, locatePublicHost } from "@board/core/http/https-client";
import { schedules } from "@board/functions/manifest";
import { createAdaptorServer } from "@hono/node-server";
import { Cron } from "croner";
import { limitConnections, serverOptions } from "./connections.ts";
import { type Consumer, startConsumer } from "./consumer.ts";
import { openDatabase } from "./database.ts";
import { openEventBus } from "./event-bus.ts";
import { lockFolder } from "./folder-lock.ts";

export interface LocalServer {
  url: string;
  stop(): Promise<void>;
}

/** Starts the whole service in one process: migrations first, then API, consumer and schedules. */
export async function startServer(settings: Settings, log: Log): Promise<LocalServer> {
  const unlock = settings.database.driver === "pglite" ? lockFolder(path.resolve(settings.data_dir)) : () => {};
  const cleanups: (() => unknown)[] = [unlock];
  const stop = async () => {
    for (const step of cleanups.toReversed()) await step();
    cleanups.length = 0;
  };
  try {
    const database = await openDatabase(settings, log);
    cleanups.push(() => database.close());
    await database.migrate();
    return { url: await startService(settings, log, database, cleanups), stop };
  } catch (error) {
    await stop();
    throw error;
  }
}

async function startService(settings: Settings, log: Log, { db }: Database, cleanups: (() => unknown)[]): Promise<string> {
  const resolve = createNameResolver(settings.budgets);
  const gateways = createGateways({
    resolve,
    device: () => getOrCreateDevice({ db, settings }),
    settings: toAddressRules(settings),
    log: (event, fields) => log.debug(event, "Gateway connection", fields),
  });
  // With PORT=0 the address that agents call is only known once the server listens.
  let currentSettings = settings;
  const createContext = createContextFactory({
    db,
    gateways,
    http: createHttpClient({ locate: locatePublicHost(resolve) }),
    bus: openEventBus(settings, log),
    get settings() {
      return currentSettings;
    },
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
    // A gateway that does not respond must not delay shutdown: its calls fail, and their jobs are retried later.
    await gateways.close();
    await idle;
  });
  const stopping = new AbortController();
  const runtime: Runtime = {
    settings,
    createContext: () => createContext({ type: "public" }),
    relay: async (ctx) => consumer.requestRelay(ctx.pendingWakeups),
    peerAddress: (c) => (c.env as { incoming?: { socket: { remoteAddress?: string } } }).incoming?.socket.remoteAddress ?? null,
    readAsset: (name) => readFile(fileURLToPath(import.meta.resolve(`swagger-ui-dist/${name}`))),
    streams: { max_seconds: Number.POSITIVE_INFINITY, shutdown_signal: stopping.signal },
  };
  const url = await listen(settings, runtime, log, cleanups);
  if (settings.base_url === null) currentSettings = { ...settings, service_url: url };
  cleanups.push(() => stopping.abort());
  cleanups.push(startSchedules(createSystemContext, consumer.requestRelay));
  consumer.requestRelay(createPendingWakeups(true));
  return url;
}

/** Time for open requests and deliveries to finish. After it, connections and calls to gateways are aborted. */
const SHUTDOWN_GRACE_MS = 3_000;
/** While the server closes, connections become idle after their last response and must be closed explicitly. */
const IDLE_SWEEP_MS = 50;

function listen(settings: Settings, runtime: Runtime, log: Log, cleanups: (() => unknown)[]): Promise<string> {
  const { fetch } = createApp(runtime, endpoints);
  const server = createAdaptorServer({ fetch, serverOptions: serverOptions(settings) }) as Server;
  limitConnections(server, settings, log);
  const unused = trackUnusedSockets(server);
  return new Promise((resolve, reject) => {
    server.once("error", reject);
    server.listen(settings.port, settings.host, () => {
      const { address, port, family } = server.address() as { address: string; port: number; family: string };
      cleanups.push(async () => {
        const closed = new Promise((done) => server.close(done));
        const timer = setTimeout(() => server.closeAllConnections(), SHUTDOWN_GRACE_MS);
        const sweep = setInterval(() => {
          server.closeIdleConnections();
          for (const socket of unused) socket.destroy();
        }, IDLE_SWEEP_MS);
        await closed;
        clearInterval(sweep);
        clearTimeout(timer);
      });
      resolve(`http://${family === "IPv6" ? `[${address}]` : address}:${port}`);
    });
  });
}

/** Tracks connections without a request so far, which clients open in advance. Node does not count them as idle. */
function trackUnusedSockets(server: Server): ReadonlySet<Socket> {
  const unused = new Set<Socket>();
  server.on("connection", (socket: Socket) => {
    unused.add(socket);
    socket.once("close", () => unused.delete(socket));
  });
  server.on("request", ({ socket }) => unused.delete(socket));
  return unused;
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
