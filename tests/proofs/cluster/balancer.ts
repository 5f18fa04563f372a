/** A small balancer before the processes: each request goes to the next one, and on to another one if that one refuses. */
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

export async function startBalancer(): Promise<Balancer> {
  const targets: string[] = [];
  const agent = new Agent({ keepAlive: true, maxSockets: 2_000 });
  const proxy = createProxyServer({ agent, xfwd: false });
  // Without a listener for errors, each call of `web` rejects with its own.
  let turn = 0;

  async function forward(request: IncomingMessage, response: ServerResponse): Promise<void> {
    const body = await buffer(request);
    for (let tried = 0; tried < Math.max(targets.length, 1); tried++) {
      const target = targets[turn++ % targets.length];
      if (target === undefined) break;
      const error = await send(request, response, target, body);
      if (error === null) return;
      // Only a refused connection is certain not to have reached the process.
      if ((error as NodeJS.ErrnoException).code !== "ECONNREFUSED") break;
    }
    if (!response.headersSent) response.writeHead(502).end();
    else response.destroy();
  }

  const send = (request: IncomingMessage, response: ServerResponse, target: string, body: Buffer): Promise<unknown> =>
    proxy.web(request, response, { target, buffer: Readable.from([body]) }).then(
      () => null,
      (error: unknown) => error,
    );

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
      const closed = new Promise((resolve) => server.close(resolve));
      server.closeAllConnections();
      await closed;
      agent.destroy();
    },
  };
}
