/** The server of Lambda's Runtime API on loopback. It sends invocations one at a time and receives the answers. */
import { randomUUID } from "node:crypto";
import { once } from "node:events";
import { createServer, type IncomingMessage, type ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";
import { text } from "node:stream/consumers";

/** The failure of a function, with the type and message that Lambda reports. */
export class LambdaError extends Error {
  readonly type: string;
  constructor(type: string, message: string) {
    super(message);
    this.name = "LambdaError";
    this.type = type;
  }
}

/** The head of a streamed response. */
export interface StreamHead {
  statusCode: number;
  headers: Record<string, string>;
  cookies: string[];
}

export interface StreamedResponse {
  head: StreamHead;
  body: string;
  /** The error that the function threw while streaming. */
  error: LambdaError | null;
}

export interface Invocation {
  event: unknown;
  resolve(result: unknown): void;
  reject(error: Error): void;
  /** Called when the runtime takes the invocation. */
  onStart?(): void;
  /** Called when the head of a streamed answer has arrived. */
  onHead?(head: StreamHead): void;
  /** Called for each piece of a streamed body. */
  onChunk?(chunk: string): void;
}

const HEAD_TYPE = "application/vnd.awslambda.http-integration-response";
const HEAD_END = Buffer.alloc(8);

export async function startRuntimeApi(options: { arn: string; timeoutMs: number }) {
  const queued: Invocation[] = [];
  const running = new Map<string, Invocation>();
  let deliver: ((invocation: Invocation) => void) | null = null;
  const ready = Promise.withResolvers<void>();
  ready.promise.catch(() => {});

  /** Rejects the start of the function and all queued and running invocations with `error`. */
  function fail(error: Error) {
    ready.reject(error);
    for (const invocation of [...queued.splice(0), ...running.values()]) invocation.reject(error);
    running.clear();
  }

  function next(response: ServerResponse) {
    ready.resolve();
    deliver = (invocation) => {
      deliver = null;
      const id = randomUUID();
      running.set(id, invocation);
      invocation.onStart?.();
      response.writeHead(200, {
        "content-type": "application/json",
        "lambda-runtime-aws-request-id": id,
        "lambda-runtime-deadline-ms": String(Date.now() + options.timeoutMs),
        "lambda-runtime-invoked-function-arn": options.arn,
        "lambda-runtime-trace-id": `Root=1-${id.slice(0, 8)}-${id.replaceAll("-", "").slice(0, 24)};Sampled=0`,
      });
      response.end(JSON.stringify(invocation.event));
    };
    const waiting = queued.shift();
    if (waiting) deliver(waiting);
  }

  const server = createServer((request, response) => {
    const path = (request.url ?? "").replace("/2018-06-01/runtime/", "");
    if (path === "invocation/next") return next(response);
    const [, id = "", outcome] = /^invocation\/([^/]+)\/(response|error)$/.exec(path) ?? [];
    const invocation = running.get(id);
    running.delete(id);
    const take = async () => {
      if (path === "init/error") fail(toError(await text(request)));
      else if (outcome === "error") invocation?.reject(toError(await text(request)));
      else if (request.headers["lambda-runtime-function-response-mode"] === "streaming")
        invocation?.resolve(await readStream(request, invocation));
      else invocation?.resolve(parse(await text(request)));
    };
    take()
      .catch((error: Error) => invocation?.reject(error))
      .finally(() => response.writeHead(202).end("{}"));
  });
  // The runtime waits on one idle connection between invocations, so it must not time out.
  server.keepAliveTimeout = 0;
  server.listen(0, "127.0.0.1");
  await once(server, "listening");

  return {
    address: `127.0.0.1:${(server.address() as AddressInfo).port}`,
    /** Settles when the module of the function has loaded or failed to load. */
    ready: ready.promise,
    enqueue(invocation: Invocation) {
      if (deliver) deliver(invocation);
      else queued.push(invocation);
    },
    fail,
    async close() {
      if (!server.listening) return;
      server.close();
      server.closeAllConnections();
      await once(server, "close");
    },
  };
}

/** Parses the body of an answer. The body is empty if the function returned nothing. */
const parse = (body: string): unknown => (body === "" ? undefined : JSON.parse(body));

function toError(body: string): LambdaError {
  const { errorType, errorMessage } = JSON.parse(body) as { errorType: string; errorMessage: string };
  return new LambdaError(errorType, errorMessage);
}

/** Reads a streamed answer: a JSON head, eight zero bytes and the body. An error arrives in HTTP trailers. */
async function readStream(request: IncomingMessage, invocation: Invocation): Promise<StreamedResponse> {
  let head: StreamHead | null =
    request.headers["content-type"] === HEAD_TYPE ? null : { statusCode: 200, headers: {}, cookies: [] };
  let before = Buffer.alloc(0);
  let body = "";
  const decoder = new TextDecoder();
  for await (const bytes of request as AsyncIterable<Buffer>) {
    let chunk = bytes;
    if (!head) {
      before = Buffer.concat([before, bytes]);
      const end = before.indexOf(HEAD_END);
      if (end < 0) continue;
      head = { headers: {}, cookies: [], ...(JSON.parse(before.toString("utf8", 0, end)) as { statusCode: number }) };
      invocation.onHead?.(head);
      chunk = before.subarray(end + HEAD_END.length);
    }
    const piece = decoder.decode(chunk, { stream: true });
    if (piece) invocation.onChunk?.(piece);
    body += piece;
  }
  if (!head) throw new Error("The stream ended inside its head");
  const failure = request.trailers["lambda-runtime-function-error-body"];
  return { head, body, error: failure ? toError(Buffer.from(failure, "base64").toString()) : null };
}
