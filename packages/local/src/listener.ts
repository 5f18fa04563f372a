import { createServer, type RequestListener, type Server } from "node:http";
import type { Socket } from "node:net";
import type { App } from "@board/api/runtime";
import type { Log } from "@board/core/values/log";
import type { Settings } from "@board/core/config/settings";
import { getRequestListener, type HttpBindings } from "@hono/node-server";
import { limitConnections, limitPipelining, serverOptions } from "./connections.ts";

export interface Listener {
  url: string;
  /** Starts answering requests. Before that, every request gets an error that asks the client to retry. */
  serve(fetch: App["fetch"]): void;
  /** Makes a balancer send new requests elsewhere: /readyz answers 503, and each answer ends its connection. */
  drain(): void;
  /** Waits for open requests and closes the port. It may be called twice. */
  close(): Promise<void>;
}

/**
 * Time for open requests to finish. Afterwards connections are aborted. On a busy machine requests take seconds, and clients would
 * send aborted requests again, to processes that are then even busier.
 */
const REQUEST_GRACE_MS = 10_000;
/** While the server closes, connections become idle after their last response and must be closed explicitly. */
const IDLE_SWEEP_MS = 50;

const answerStarting = () =>
  Response.json(
    { detail: "The service is starting. Send the request again in a second." },
    { status: 503, headers: { "Retry-After": "1" } },
  );

const answerUnready = () => Response.json({ ok: false }, { status: 503 });

/** Opens the port before the database is opened, so that a port in use is reported at once. */
export async function listen(settings: Settings, log: Log): Promise<Listener> {
  let answer: App["fetch"] = answerStarting;
  let isDraining = false;
  const respond = getRequestListener((request, env) =>
    isDraining && new URL(request.url).pathname === "/readyz" ? answerUnready() : answer(request, env as HttpBindings),
  );
  const listener: RequestListener = (request, response) => {
    if (isDraining) response.shouldKeepAlive = false;
    void respond(request, response);
  };
  const server = createServer(serverOptions(settings), limitPipelining(listener, settings, log));
  limitConnections(server, settings, log);
  const unused = trackUnusedSockets(server);
  await new Promise<void>((resolve, reject) => {
    server.once("error", reject);
    server.listen(settings.port, settings.host, resolve);
  });
  const { address, port, family } = server.address() as { address: string; port: number; family: string };

  async function close(): Promise<void> {
    const closed = new Promise((done) => server.close(done));
    const timer = setTimeout(() => server.closeAllConnections(), REQUEST_GRACE_MS);
    const sweep = setInterval(() => {
      server.closeIdleConnections();
      for (const socket of unused) socket.destroy();
    }, IDLE_SWEEP_MS);
    await closed;
    clearInterval(sweep);
    clearTimeout(timer);
  }
  let closing: Promise<void> | undefined;
  return {
    url: `http://${family === "IPv6" ? `[${address}]` : address}:${port}`,
    serve(fetch) {
      answer = fetch;
    },
    drain() {
      isDraining = true;
    },
    close: () => (closing ??= close()),
  };
}

/** Tracks connections that have had no request yet, because clients open some in advance. Node does not count them as idle. */
function trackUnusedSockets(server: Server): ReadonlySet<Socket> {
  const unused = new Set<Socket>();
  server.on("connection", (socket: Socket) => {
    unused.add(socket);
    socket.once("close", () => unused.delete(socket));
  });
  server.on("request", ({ socket }) => unused.delete(socket));
  return unused;
}
