import { createContextFactory } from "@board/core/context/context-factory";
import type { Db } from "@board/core/context/db";
import { createLogMeter } from "@board/core/context/meter";
import type { Settings } from "@board/core/config/settings";
import { createNameResolver } from "@board/core/dns/resolver";
import { createHttpClient, locateAllowedReceiver, locatePublicHost } from "@board/core/http/https-client";
import { toReceiverRules } from "@board/core/subscription/receiver-rules";
import type { Log } from "@board/core/values/log";
import { toAddressRules } from "@board/openclaw/gateway/address-rules";
import { getOrCreateDevice } from "@board/openclaw/host/device-key";
import { createGateways } from "@board/openclaw/wire/websocket";
import { openBodyStorage } from "./body-storage.ts";
import { openEventBus } from "./event-bus.ts";
import { openFileStorage } from "./file-storage.ts";
import { openMailer } from "./mailer.ts";
import type { Telemetry } from "./telemetry/telemetry.ts";

interface Shared {
  db: Db;
  log: Log;
  telemetry?: Telemetry | null;
  /** Functions that end the connections of the contexts. `openContexts` adds to this list. */
  cleanups: (() => unknown)[];
}

/** Opens the contexts of requests, jobs and programs on this machine. Each connection is opened at first use. */
export function openContexts(settings: Settings, { db, log, telemetry, cleanups }: Shared) {
  const resolve = createNameResolver(settings.budgets);
  const gateways = createGateways({
    resolve,
    device: () => getOrCreateDevice({ db, settings }),
    settings: toAddressRules(settings),
    log: (event, fields) => log.debug(event, "Gateway connection", fields),
  });
  const mail = openMailer(settings);
  cleanups.push(() => mail?.close());
  const http = createHttpClient({
    locate: locatePublicHost(resolve),
    locateReceiver: locateAllowedReceiver(resolve, toReceiverRules(settings)),
  });
  const createContext = createContextFactory({
    db,
    gateways: telemetry?.traceGateways(gateways) ?? gateways,
    http: telemetry?.traceHttp(http) ?? http,
    bus: openEventBus(settings, log),
    bodies: openBodyStorage(settings),
    files: openFileStorage(settings),
    mail,
    settings,
    now: () => new Date(),
    log,
    meter: telemetry?.meter ?? createLogMeter(log),
    tracer: telemetry?.tracer,
  });
  return { createContext, gateways };
}
