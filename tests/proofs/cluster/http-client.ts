/** Requests by Node's own client, which takes half of the processor time of `fetch`. */
import { Agent, type IncomingMessage, request } from "node:http";
import { text } from "node:stream/consumers";

export interface Answer {
  status: number;
  text: string;
}

interface RequestOptions {
  method?: string;
  headers: Record<string, string>;
  body?: string | undefined;
  signal?: AbortSignal;
}

const agent = new Agent({ keepAlive: true });

/** Sends a request, and resolves when the head of the answer arrives. Rejects when the connection is cut before. */
export const open = (url: string, { method = "GET", headers, body, signal }: RequestOptions): Promise<IncomingMessage> =>
  new Promise((resolve, reject) => {
    const length = body === undefined ? {} : { "content-length": String(Buffer.byteLength(body)) };
    const options = { method, headers: { ...headers, ...length }, agent, ...(signal && { signal }) };
    request(url, options, resolve).on("error", reject).end(body);
  });

/** Sends a request and returns its answer, or null if no complete answer arrived. */
export const send = (url: string, options: RequestOptions): Promise<Answer | null> =>
  open(url, options)
    .then(
      async (answer) => ({ status: answer.statusCode!, text: await text(answer) }),
      () => null,
    )
    .catch(() => null);
