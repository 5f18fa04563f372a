import type { RequestListener, Server, ServerOptions } from "node:http";
import type { Socket } from "node:net";
import { createProxyMatcher, parseAddress } from "@board/api/edge/client-address";
import { type Log, silentLog } from "@board/core/values/log";
import { toCounterKey } from "@board/core/db/rate-limit";
import type { Settings } from "@board/core/config/settings";
import { answerInOrder } from "./pipelining.ts";

/** Time for the headers of a request. It also limits how long a connection may stay without any request. */
const HEAD_MS = 10_000;
const CHECK_MS = 2_000;

/** Limits for requests whose body is never read. Bodies that are read have separate limits with clearer errors. */
export function serverOptions({ budgets }: Settings): ServerOptions {
  const requestTimeout = budgets.request_body_seconds === 0 ? 0 : budgets.request_body_seconds * 1_000 + HEAD_MS;
  return { headersTimeout: HEAD_MS, requestTimeout, connectionsCheckingInterval: CHECK_MS };
}

const TOO_MANY = "HTTP/1.1 429 Too Many Requests\r\nRetry-After: 5\r\nContent-Length: 0\r\nConnection: close\r\n\r\n";

const WARN_INTERVAL_MS = 60_000;

/** Limits the open connections in total and per address. A trusted proxy has no limit, because many clients share its address. */
export function limitConnections(server: Server, { budgets, trusted_proxies }: Settings, log: Log): void {
  const { max_connections, max_connections_per_address: limit } = budgets;
  const isProxy = createProxyMatcher(trusted_proxies, silentLog);
  const open = new Map<string, number>();
  const warn = atIntervals((event, message) => log.warn(event, message));
  if (max_connections > 0) server.maxConnections = max_connections;
  server.on("drop", () => warn("http.connections_full", "Connections are closed, because the limit max_connections is reached"));
  server.on("connection", (socket: Socket) => {
    const peer = parseAddress(socket.remoteAddress ?? "");
    if (limit === 0 || peer === "" || isProxy(peer)) return;
    const key = toCounterKey(peer);
    const change = (by: number) => {
      const count = (open.get(key) ?? 0) + by;
      if (count === 0) open.delete(key);
      else open.set(key, count);
      return count;
    };
    socket.once("close", () => change(-1));
    if (change(1) <= limit) return;
    warn(
      "http.connections_limited",
      `Connections of ${peer} are closed, because the limit max_connections_per_address is reached`,
    );
    socket.write(TOO_MANY);
    socket.destroySoon();
  });
}

/** Answers the requests of a connection in order, and limits how many requests a client may send before it gets the answers. */
export function limitPipelining(listener: RequestListener, { budgets }: Settings, log: Log): RequestListener {
  const warn = atIntervals((event, message) => log.warn(event, message));
  return answerInOrder(listener, budgets, () =>
    warn("http.pipelining_limited", "Connections that reach the limit connection_waiting_requests are closed"),
  );
}

/** Limits how often a warning is logged, because an attack must not fill the log. */
function atIntervals(write: (event: string, message: string) => void): typeof write {
  let last = Number.NEGATIVE_INFINITY;
  return (event, message) => {
    if (performance.now() - last < WARN_INTERVAL_MS) return;
    last = performance.now();
    write(event, message);
  };
}
