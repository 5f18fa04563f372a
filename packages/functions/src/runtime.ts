import { readFile } from "node:fs/promises";
import type { createApp, Runtime } from "@board/api/app";
import { createLog } from "@board/api/log";
import type { Actor, System } from "@board/core/actor";
import { type EventBus, lazyBus } from "@board/core/bus";
import type { Context } from "@board/core/context";
import { openNeon } from "@board/core/db/neon";
import type { Gateways } from "@board/core/gateway/client";
import { relayAll } from "@board/core/job/job";
import { createLocalBus } from "@board/core/local-bus";
import { errorText } from "@board/core/log";
import { createOutbox } from "@board/core/outbox";
import { parseSettings, type Settings } from "@board/core/settings";
import type { Web } from "@board/core/web/web";
import { Edge } from "./environment.ts";
import { createEmfMeter } from "./meter.ts";

const edge = Edge.parse(process.env);
const parsed = parseSettings(process.env, "lambda");
/** Without a bus nothing is stored that could never be published. */
export const settings: Settings = { ...parsed, board_events: parsed.board_events && Boolean(edge.EVENT_BUS_NAME) };
export const log = createLog(settings.log_level, { function: process.env["AWS_LAMBDA_FUNCTION_NAME"] });
export const meter = createEmfMeter(edge.STAGE, log);

const { prepared_statements: prepare } = settings;
const { db } = openNeon(settings.database.url!, { max: 2, prepare, log, ...(edge.NEON_PROXY ? { proxy: edge.NEON_PROXY } : {}) });

/** Loaded when a gateway is called: most functions never do, and the socket library would slow down their start. */
const gateways = lazyGateways(async () => {
  const [{ createGateways }, { readDevice }] = await Promise.all([
    import("@board/core/gateway/websocket"),
    import("@board/core/gateway/device-key"),
  ]);
  return createGateways({
    device: () => readDevice({ db, settings }),
    settings: { allowed_hosts: settings.gateway_allowed_hosts, private_addresses_allowed: settings.private_gateways_allowed },
  });
});

function lazyGateways(open: () => Promise<Gateways>): Gateways {
  let opened: Promise<Gateways> | undefined;
  const opening = () => (opened ??= open());
  return {
    hello: async (...call) => (await opening()).hello(...call),
    request: async (...call) => (await opening()).request(...call),
    close: async () => (opened ? (await opened).close() : undefined),
  };
}

/** Loaded when something is fetched. */
const web: Web = { get: async (...call) => (await import("@board/core/web/https")).createWeb().get(...call) };

/** Loaded when something is published. Events from before the bus was taken away go nowhere. */
const bus: EventBus = edge.EVENT_BUS_NAME ? openEventBus(edge.EVENT_BUS_NAME) : createLocalBus();

function openEventBus(name: string): EventBus {
  return lazyBus(async () => (await import("./event-bus.ts")).createEventBus({ name }));
}

function contextFor<A extends Actor>(actor: A): Context<A> {
  return {
    db,
    actor,
    gateways,
    web,
    bus,
    settings,
    now: () => new Date(),
    log,
    meter,
    trace_id: null,
    outbox: createOutbox(),
  };
}

export const systemContext = (): Context<System> => contextFor({ type: "system" });

/** What one request waits for at the most: about a third of a second. Removing an agent with its tasks can leave thousands. */
const REQUEST_BATCHES = 20;

/** Sends the wake-ups that are due. A queue that is away costs nothing but time: the schedule sends them later. */
export async function relayJobs(ctx: Context, most_batches?: number): Promise<void> {
  try {
    // The AWS SDK takes 50 ms to load: only where something is sent.
    const { sendWakeUps } = await import("./queue.ts");
    const queues = { deliveries: edge.DELIVERIES_QUEUE_URL, syncs: edge.SYNCS_QUEUE_URL };
    await relayAll(ctx, sendWakeUps(queues, ctx.log), ctx.outbox, most_batches);
  } catch (error) {
    ctx.log.error("jobs.relay_failed", errorText(error));
  }
}

/** The same app, whose answers leave after what was measured on the way is written. */
export function flushing<App extends ReturnType<typeof createApp>>(app: App): App {
  const { fetch } = app;
  app.fetch = async (...request) => {
    const answer = await fetch(...request);
    await meter.flush();
    return answer;
  };
  return app;
}

const NEVER = new AbortController().signal;

export const runtime: Runtime = {
  settings,
  context: () => contextFor({ type: "public" }),
  relay: (ctx) => relayJobs(ctx, REQUEST_BATCHES),
  socketAddress: (c) =>
    (c.env as { event?: { requestContext?: { http?: { sourceIp?: string } } } }).event?.requestContext?.http?.sourceIp ?? null,
  asset: (name) => readFile(new URL(`docs/${name}`, import.meta.url)),
  // API Gateway passes an answer on when it is whole: streams end at once, and their clients come back for more.
  streams: { max_seconds: 0, stopping: NEVER },
};

/** Where answers are streamed: they end after so many seconds. */
export const streaming = (max_seconds: number): Runtime => ({ ...runtime, streams: { max_seconds, stopping: NEVER } });
