import { once } from "node:events";
import type { IncomingMessage } from "node:http";
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import type { WebSocket } from "ws";
import { WebSocketServer } from "ws";

export interface Listener {
  port: number;
  /** Stops accepting connections and keeps the open ones. */
  stopAccepting(): void;
  /** Closes all connections and resolves when the port is free. */
  close(): Promise<void>;
}

interface ListenerOptions {
  port: number;
  host: string;
  /** Larger messages close the connection with 1009. */
  max_payload: number;
  /** Returns the HTTP status that rejects an upgrade, or null to accept it. */
  rejectStatus(request: IncomingMessage): number | null;
  accept(socket: WebSocket, request: IncomingMessage): void;
}

/**
 * Starts listening, at the start and after each restart. Plain HTTP always gets a page, so it does not work as a health check.
 */
export async function listen(options: ListenerOptions): Promise<Listener> {
  const wss = new WebSocketServer({ noServer: true, maxPayload: options.max_payload });
  const server = createServer((_request, response) => response.setHeader("content-type", "text/html").end("<!doctype html>"));
  const closed = once(server, "close");
  server.on("upgrade", (request, stream, head) => {
    const status = options.rejectStatus(request);
    if (status === null) wss.handleUpgrade(request, stream, head, (socket) => options.accept(socket, request));
    else stream.end(`HTTP/1.1 ${status} Refused\r\nLocation: /elsewhere\r\nConnection: close\r\n\r\n`);
  });
  server.listen(options.port, options.host);
  await once(server, "listening");
  return {
    port: (server.address() as AddressInfo).port,
    stopAccepting: () => void server.close(),
    async close() {
      server.close();
      server.closeAllConnections();
      for (const socket of wss.clients) socket.terminate();
      await closed;
    },
  };
}
