import { createServer, type IncomingHttpHeaders, type IncomingMessage, type ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";
import { text } from "node:stream/consumers";

export interface ReceivedMessage {
  path: string;
  headers: IncomingHttpHeaders & { "webhook-id": string };
  body: string;
  // oxlint-disable-next-line typescript/no-explicit-any -- the body is what the service sent
  json: any;
}

/** A receiver of outbound events on loopback. */
export interface Receiver {
  url: string;
  port: number;
  /** In the order of their arrival. */
  messages: ReceivedMessage[];
  /** Answers the messages; by default each gets 204. */
  answer: (request: IncomingMessage, response: ServerResponse) => void;
  close(): Promise<void>;
}

export async function startReceiver(): Promise<Receiver> {
  const server = createServer((request, response) => {
    void text(request).then((body) => {
      const headers = request.headers as ReceivedMessage["headers"];
      receiver.messages.push({ path: request.url ?? "", headers, body, json: JSON.parse(body) });
      receiver.answer(request, response);
    });
  });
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  const { port } = server.address() as AddressInfo;
  const receiver: Receiver = {
    url: `http://127.0.0.1:${port}/events`,
    port,
    messages: [],
    answer: accept,
    async close() {
      server.closeAllConnections();
      await new Promise((resolve) => server.close(resolve));
    },
  };
  return receiver;
}

export const accept = (_request: IncomingMessage, response: ServerResponse): void => void response.writeHead(204).end();

export const reply =
  (status: number, body = "", headers: Record<string, string> = {}) =>
  (_request: IncomingMessage, response: ServerResponse): void =>
    void response.writeHead(status, headers).end(body);
