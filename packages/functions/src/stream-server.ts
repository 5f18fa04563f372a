/** Serves all streams from one process in a container (docs/deploying.md#streams-from-a-container). */
import type { Server } from "node:http";
import type { AddressInfo } from "node:net";
import { createApp } from "@board/api/app";
import { health } from "@board/api/routes/health";
import { streamRoutes } from "@board/api/stream/stream-routes";
import { createAdaptorServer } from "@hono/node-server";
import { createServerRuntime, log, settings, withMetricFlush } from "./runtime.ts";

/**
 * The load balancer keeps an idle connection for 60 s. This time is longer, so that the balancer never uses a closed connection.
 */
const KEEP_ALIVE_MS = 65_000;
/** Time that clients get to read the last frame of their streams. */
const STOP_MS = 10_000;
const IDLE_SWEEP_MS = 50;

const stopping = new AbortController();
const { fetch } = createApp(createServerRuntime(stopping.signal), [...health, ...streamRoutes]);
const server = createAdaptorServer({ fetch: withMetricFlush(fetch) }) as Server;
server.keepAliveTimeout = KEEP_ALIVE_MS;
server.listen(settings.port, settings.host, () => {
  const { port } = server.address() as AddressInfo;
  log.info("streams.listening", "Streams are served", { port });
});

process.once("SIGTERM", () => {
  stopping.abort();
  server.close(() => process.exit(0));
  // A connection becomes idle when its stream has ended. It is closed here, because the server would otherwise wait until the
  // client closes it.
  setInterval(() => server.closeIdleConnections(), IDLE_SWEEP_MS).unref();
  setTimeout(() => process.exit(0), STOP_MS).unref();
});
