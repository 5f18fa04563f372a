/**
 * A small load balancer in a separate process. Each request goes to the next process of the service, or to another one if that
 * refuses the connection. If the balancer checks their health, processes that are not ready get no requests.
 */
import { Agent, createServer, type IncomingMessage, type ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";
import { Readable } from "node:stream";
import { buffer } from "node:stream/consumers";
import { createProxyServer } from "httpxy";
import { serveAsPart } from "./part.ts";

const CHECK_TIMEOUT_MS = 2_000;

const isReady = (url: string): Promise<boolean> =>
  fetch(`${url}/readyz`, { signal: AbortSignal.timeout(CHECK_TIMEOUT_MS) }).then(
    async (answer) => {
      await answer.text();
      return answer.ok;
    },
    () => false,
  );

export type BalancerMethods = ReturnType<typeof createBalancer>;

function createBalancer() {
  const targets: string[] = [];
  const unready = new Set<string>();
  const agent = new Agent({ keepAlive: true, maxSockets: 2_000 });
  // The proxy gets no listener for errors, so that each call of `web` rejects with its own error.
  const proxy = createProxyServer({ agent, xfwd: false });
  let turn = 0;

  async function forward(request: IncomingMessage, response: ServerResponse): Promise<void> {
    const body = await buffer(request);
    const ready = targets.filter((url) => !unready.has(url));
    // On a busy machine all checks may time out. Balancers such as AWS's and Envoy then try all processes too.
    const candidates = ready.length > 0 ? ready : targets;
    const first = turn++;
    let error = "no process is ready";
    for (let tried = 0; tried < Math.max(candidates.length, 1); tried++) {
      const target = candidates[(first + tried) % candidates.length];
      if (target === undefined) break;
      const failure = await send(request, response, target, body);
      if (failure === null) return;
      error = String((failure as NodeJS.ErrnoException).code);
      // Only a refused connection is certain not to have reached the process.
      if (error !== "ECONNREFUSED") break;
    }
    if (!response.headersSent) response.writeHead(502).end(error);
    else response.destroy();
  }

  const send = (request: IncomingMessage, response: ServerResponse, target: string, body: Buffer): Promise<unknown> =>
    proxy.web(request, response, { target, buffer: Readable.from([body]) }).then(
      () => null,
      (error: unknown) => error,
    );

  async function check(url: string): Promise<void> {
    if (await isReady(url)) unready.delete(url);
    else unready.add(url);
  }
  const server = createServer((request, response) => {
    forward(request, response).catch(() => response.destroy());
  });

  return {
    /** Returns its URL. `check_ms` is the time between two checks of a process; without it, nothing is checked. */
    async listen(check_ms: number | null): Promise<string> {
      await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
      if (check_ms !== null) setInterval(() => targets.forEach((url) => void check(url)), check_ms);
      return `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
    },
    add: (url: string) => void targets.push(url),
    remove(url: string) {
      const at = targets.indexOf(url);
      if (at >= 0) targets.splice(at, 1);
    },
  };
}

serveAsPart(createBalancer());
