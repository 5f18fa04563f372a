import { once } from "node:events";
import type { IncomingMessage } from "node:http";
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import type { WebSocket } from "ws";
import { WebSocketServer } from "ws";

export interface Listener {
  port: number;
  /** Refuses new connections from now on; open ones stay. */
  refuse(): void;
  /** Cuts what is open and resolves when the port is free. */
  close(): Promise<void>;
}

export interface ListenerOptions {
  port: number;
  host: string;
  /** Larger messages end the connection with 1009. */
  max_payload: number;
  /** The HTTP status to refuse this upgrade with, or null to take it. */
  refusal(request: IncomingMessage): number | null;
  accept(socket: WebSocket, request: IncomingMessage): void;
}

/** One life of the port: a host that restarts listens anew. Plain HTTP gets a page, which is why it is no health check. */
export async function listen(options: ListenerOptions): Promise<Listener> {
  const wss = new WebSocketServer({ noServer: true, maxPayload: options.max_payload });
  const server = createServer((_request, response) => response.setHeader("content-type", "text/html").end("<!doctype html>"));
  const closed = once(server, "close");
  server.on("upgrade", (request, stream, head) => {
    const status = options.refusal(request);
    if (status === null) wss.handleUpgrade(request, stream, head, (socket) => options.accept(socket, request));
    else stream.end(`HTTP/1.1 ${status} Refused\r\nLocation: /elsewhere\r\nConnection: close\r\n\r\n`);
  });
  server.listen(options.port, options.host);
  await once(server, "listening");
  return {
    port: (server.address() as AddressInfo).port,
    refuse: () => void server.close(),
    async close() {
      server.close();
      server.closeAllConnections();
      for (const socket of wss.clients) socket.terminate();
      await closed;
    },
  };
}
