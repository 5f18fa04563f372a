/**
 * A small load balancer in front of the processes. Each request goes to the next process, or to another one if that refuses the
 * connection. If the balancer checks their health, processes that are not ready get no requests.
 */
import { Agent, createServer, type IncomingMessage, type ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";
import { Readable } from "node:stream";
import { buffer } from "node:stream/consumers";
import { createProxyServer } from "httpxy";

export interface Balancer {
  url: string;
  add(url: string): void;
  remove(url: string): void;
  close(): Promise<void>;
}

const CHECK_TIMEOUT_MS = 2_000;

const isReady = (url: string): Promise<boolean> =>
  fetch(`${url}/readyz`, { signal: AbortSignal.timeout(CHECK_TIMEOUT_MS) }).then(
    async (answer) => {
      await answer.text();
      return answer.ok;
    },
    () => false,
  );

/** `check_ms` is the time between two checks of a process; without it, nothing is checked. */
export async function startBalancer(check_ms?: number): Promise<Balancer> {
  const targets: string[] = [];
  const unready = new Set<string>();
  const agent = new Agent({ keepAlive: true, maxSockets: 2_000 });
  const proxy = createProxyServer({ agent, xfwd: false });
  // Without a listener for errors, each call of `web` rejects with its own error.
  let turn = 0;

  async function forward(request: IncomingMessage, response: ServerResponse): Promise<void> {
    const body = await buffer(request);
    const candidates = targets.filter((url) => !unready.has(url));
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
  const checking = check_ms && setInterval(() => targets.forEach((url) => void check(url)), check_ms);

  const server = createServer((request, response) => {
    forward(request, response).catch(() => response.destroy());
  });
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    add: (url) => void targets.push(url),
    remove(url) {
      const at = targets.indexOf(url);
      if (at >= 0) targets.splice(at, 1);
    },
    async close() {
      clearInterval(checking);
      const closed = new Promise((resolve) => server.close(resolve));
      server.closeAllConnections();
      await closed;
      agent.destroy();
    },
  };
}
