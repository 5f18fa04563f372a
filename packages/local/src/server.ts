import { readFile } from "node:fs/promises";
import type { Server } from "node:http";
import type { Socket } from "node:net";
import path from "node:path";
import { setTimeout as pause } from "node:timers/promises";
import { fileURLToPath } from "node:url";
import { createApp, type Runtime } from "@board/api/app";
import { endpoints } from "@board/api/groups";
import type { Actor } from "@board/core/actor";
import type { Context } from "@board/core/context";
import type { Database } from "@board/core/db/database";
import { readDevice } from "@board/core/gateway/device-key";
import { createGateways } from "@board/core/gateway/websocket";
import { recoverJobs } from "@board/core/job/job";
import type { Log } from "@board/core/log";
import { meterToLog } from "@board/core/meter";
import { createOutbox } from "@board/core/outbox";
import { runScheduled, type ScheduleName } from "@board/core/schedule";
import type { Settings } from "@board/core/settings";
import { createWeb } from "@board/core/web/https";
import { schedules } from "@board/functions/manifest";
import { createAdaptorServer } from "@hono/node-server";
import { Cron } from "croner";
import { type Consumer, startConsumer } from "./consumer.ts";
import { openDatabase } from "./database.ts";
import { openEventBus } from "./event-bus.ts";
import { lockFolder } from "./lock.ts";

export interface LocalServer {
  url: string;
  stop(): Promise<void>;
}

/** The whole service in one process: API, consumers, schedules; migrations at start. */
export async function startServer(settings: Settings, log: Log): Promise<LocalServer> {
  const unlock = settings.database.driver === "pglite" ? lockFolder(path.resolve(settings.data_dir)) : () => {};
  const stops: (() => unknown)[] = [unlock];
  const stop = async () => {
    for (const step of stops.toReversed()) await step();
    stops.length = 0;
  };
  try {
    const database = await openDatabase(settings, log);
    stops.push(() => database.close());
    await database.migrate();
    return { url: await serve(settings, log, database, stops), stop };
  } catch (error) {
    await stop();
    throw error;
  }
}

async function serve(settings: Settings, log: Log, { db }: Database, stops: (() => unknown)[]): Promise<string> {
  const now = () => new Date();
  const gateways = createGateways({
    device: () => readDevice({ db, settings }),
    settings: { allowed_hosts: settings.gateway_allowed_hosts, private_addresses_allowed: settings.private_gateways_allowed },
    log: (event, fields) => log.debug(event, "Gateway connection", fields),
  });
  const web = createWeb();
  const meter = meterToLog(log);
  const bus = openEventBus(settings, log);
  // With PORT=0 the address that agents' files and messages name is known once the server listens.
  let known = settings;
  const contextFor = <A extends Actor>(actor: A): Context<A> => ({
    db,
    actor,
    gateways,
    web,
    bus,
    settings: known,
    now,
    log,
    meter,
    trace_id: null,
    outbox: createOutbox(),
  });
  const system = () => contextFor({ type: "system" } as const);

  await recoverJobs(system(), { alone: settings.database.driver === "pglite" });
  const consumer = startConsumer(system);
  stops.push(async () => {
    const idle = consumer.stop();
    await Promise.race([idle, pause(GRACE_MS, undefined, { ref: false })]);
    // A gateway that does not answer must not hold up the end: its calls fail now and are made again by the next start.
    await gateways.close();
    await idle;
  });
  const stopping = new AbortController();
  const runtime: Runtime = {
    settings,
    context: () => contextFor({ type: "public" }),
    relay: async (ctx) => consumer.poke(ctx.outbox),
    socketAddress: (c) => (c.env as { incoming?: { socket: { remoteAddress?: string } } }).incoming?.socket.remoteAddress ?? null,
    asset: (name) => readFile(fileURLToPath(import.meta.resolve(`swagger-ui-dist/${name}`))),
    streams: { max_seconds: Number.POSITIVE_INFINITY, stopping: stopping.signal },
  };
  const url = await listen(settings, runtime, stops);
  if (settings.base_url === null) known = { ...settings, service_url: url };
  stops.push(() => stopping.abort());
  stops.push(startSchedules(system, consumer.poke));
  consumer.poke(createOutbox(true));
  return url;
}

/** Milliseconds that open requests and deliveries get to end; connections and calls to gateways are cut after it. */
const GRACE_MS = 3_000;
/** A connection whose last answer ends while the server closes is idle, and stays open until somebody looks. */
const SWEEP_MS = 50;

function listen(settings: Settings, runtime: Runtime, stops: (() => unknown)[]): Promise<string> {
  const server = createAdaptorServer({ fetch: createApp(runtime, endpoints).fetch }) as Server;
  const unused = trackUnused(server);
  return new Promise((resolve, reject) => {
    server.once("error", reject);
    server.listen(settings.port, settings.host, () => {
      const { address, port, family } = server.address() as { address: string; port: number; family: string };
      stops.push(async () => {
        const closed = new Promise((done) => server.close(done));
        const timer = setTimeout(() => server.closeAllConnections(), GRACE_MS);
        const sweep = setInterval(() => {
          server.closeIdleConnections();
          for (const socket of unused) socket.destroy();
        }, SWEEP_MS);
        await closed;
        clearInterval(sweep);
        clearTimeout(timer);
      });
      resolve(`http://${family === "IPv6" ? `[${address}]` : address}:${port}`);
    });
  });
}

/** Connections that clients opened in advance: without a request so far, Node does not count them as idle. */
function trackUnused(server: Server): ReadonlySet<Socket> {
  const unused = new Set<Socket>();
  server.on("connection", (socket: Socket) => {
    unused.add(socket);
    socket.once("close", () => unused.delete(socket));
  });
  server.on("request", ({ socket }) => unused.delete(socket));
  return unused;
}

/** The schedules of the manifest, by a clock of this process. */
function startSchedules(system: () => Context<{ type: "system" }>, poke: Consumer["poke"]): () => void {
  const crons = Object.entries(schedules).map(([name, { every_minutes }]) => {
    const pattern = every_minutes < 60 ? `*/${every_minutes} * * * *` : `0 */${every_minutes / 60} * * *`;
    return new Cron(pattern, { protect: true, unref: true }, async () => {
      const ctx = system();
      // It has said itself what went wrong, and the next run does its work.
      await runScheduled(ctx, name as ScheduleName).catch(() => {});
      poke(ctx.outbox);
    });
  });
  return () => crons.forEach((cron) => cron.stop());
}
