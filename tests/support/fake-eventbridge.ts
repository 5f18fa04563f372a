/** EventBridge's PutEvents on loopback. It speaks the wire protocol, so the tests use the real client. */
import { once } from "node:events";
import { createServer, type IncomingMessage } from "node:http";
import type { AddressInfo } from "node:net";
import { json } from "node:stream/consumers";
import type { BoardEvent } from "@board/core/context/event-body";

interface PutEntry {
  EventBusName: string;
  Source: string;
  DetailType: string;
  /** The time in seconds since 1970. */
  Time: number;
  Detail: string;
}

export interface FakeEventBridge {
  readonly url: string;
  /** The entries of every call in order, including refused calls. */
  readonly calls: PutEntry[][];
  /** The accepted events. */
  readonly taken: BoardEvent[];
  /** The ids of events to refuse. Other events of the same call are accepted. */
  readonly refused: Set<string>;
  /** How many of the next calls get no answer. */
  lost_answers: number;
  /** Stops listening. */
  stop(): Promise<void>;
  /** Listens again on the same port. */
  start(): Promise<void>;
}

export async function startFakeEventBridge(): Promise<FakeEventBridge> {
  const server = createServer((request, response) => {
    void readEntries(request).then((entries) => {
      endpoint.calls.push(entries);
      const Entries = entries.map((entry) => {
        const event = JSON.parse(entry.Detail) as BoardEvent;
        if (endpoint.refused.has(event.id)) return { ErrorCode: "ThrottlingException", ErrorMessage: "Rate exceeded" };
        endpoint.taken.push(event);
        return { EventId: crypto.randomUUID() };
      });
      if (endpoint.lost_answers > 0) {
        endpoint.lost_answers--;
        return request.socket.destroy();
      }
      const FailedEntryCount = Entries.filter(({ ErrorCode }) => ErrorCode).length;
      response
        .writeHead(200, { "content-type": "application/x-amz-json-1.1" })
        .end(JSON.stringify({ FailedEntryCount, Entries }));
    });
  });
  const listen = async (port: number) => {
    server.listen(port, "127.0.0.1");
    await once(server, "listening");
    return (server.address() as AddressInfo).port;
  };
  const port = await listen(0);
  const endpoint: FakeEventBridge = {
    url: `http://127.0.0.1:${port}`,
    calls: [],
    taken: [],
    refused: new Set(),
    lost_answers: 0,
    async stop() {
      if (!server.listening) return;
      server.close();
      server.closeAllConnections();
      await once(server, "close");
    },
    start: async () => void (await listen(port)),
  };
  return endpoint;
}

async function readEntries(request: IncomingMessage): Promise<PutEntry[]> {
  if (request.headers["x-amz-target"] !== "AWSEvents.PutEvents")
    throw new Error(`Not PutEvents: ${request.headers["x-amz-target"]}`);
  return ((await json(request)) as { Entries: PutEntry[] }).Entries;
}
