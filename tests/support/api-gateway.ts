/**
 * API Gateway's HTTP API in this process: it selects the function by the manifest's routes, converts requests to payload
 * format 2.0 and results to answers. Streams go to their function URL, as the OpenAPI document asks clients to do.
 */
import { isUtf8 } from "node:buffer";
import { endpoints } from "@board/api/groups";
import { isStream } from "@board/api/endpoint";
import { toPathRegExp } from "@board/api/edge/path";
import { type ApiGroup, groups } from "@board/functions/manifest";
import type { APIGatewayProxyEventV2, APIGatewayProxyStructuredResultV2 } from "aws-lambda";
import { apiGatewayEvent, functionUrlEvent, isText, toResponse } from "./aws-events.ts";
import { LambdaError, type StreamedResponse, type StreamListeners } from "./lambda-sandbox.ts";

/** The functions behind the gateway. */
export interface Functions {
  invoke(name: string, event: APIGatewayProxyEventV2): Promise<APIGatewayProxyStructuredResultV2>;
  /** Invokes the streaming function. `signal` aborts when the client disconnects. */
  stream(event: APIGatewayProxyEventV2, listeners: StreamListeners, signal: AbortSignal): Promise<StreamedResponse>;
}

interface GatewayOptions {
  /** Returns the client address of a request. */
  sourceIp: () => string;
  /** False sends streams through API Gateway, which buffers them completely. */
  streams: boolean;
}

/** The largest request body of API Gateway, and the largest event or result of Lambda, in bytes. */
const LARGEST_REQUEST = 10 * 1024 ** 2;
const LARGEST_PAYLOAD = 6 * 1024 ** 2;

const routes = Object.entries<ApiGroup>(groups).flatMap(([group, { routes: keys }]) => keys.map((key) => ({ group, key })));
const streamPaths = endpoints.filter(isStream).flatMap(({ paths }) => paths.map(toPathRegExp));

/**
 * Returns the function and the route that API Gateway selects: a full match precedes a greedy match, a longer route precedes a
 * shorter route, and a specific method precedes ANY. `$default` takes all other requests.
 */
export function routeOf(method: string, path: string): { group: string; key: string } {
  const segments = path.split("/");
  const scored = routes.flatMap(({ group, key }) => {
    const [keyMethod = "", pattern = ""] = key.split(" ");
    if (key === "$default" || (keyMethod !== "ANY" && keyMethod !== method)) return [];
    const parts = pattern.split("/");
    const greedy = parts.at(-1) === "{proxy+}";
    if (greedy ? segments.length < parts.length : segments.length !== parts.length) return [];
    const fixed = greedy ? parts.slice(0, -1) : parts;
    const fits = (part: string, index: number) => (part.startsWith("{") ? segments[index] !== "" : part === segments[index]);
    if (!fixed.every(fits) || (greedy && segments.slice(fixed.length).join("") === "")) return [];
    return [{ group, key, score: [greedy ? 0 : 1, parts.length, keyMethod === "ANY" ? 0 : 1] }];
  });
  scored.sort((a, b) => b.score[0]! - a.score[0]! || b.score[1]! - a.score[1]! || b.score[2]! - a.score[2]!);
  return scored[0] ?? { group: "fallback", key: "$default" };
}

/** Returns a replacement for fetch that ignores the host of a request's URL. */
export function apiGateway(functions: Functions, { sourceIp, streams }: GatewayOptions): (request: Request) => Promise<Response> {
  return async (request) => {
    const { pathname, search } = new URL(request.url);
    const bytes = request.body === null ? null : new Uint8Array(await request.arrayBuffer());
    if (bytes && bytes.length > LARGEST_REQUEST) return refusal(413, "Request Entity Too Large");
    const headers = Object.fromEntries(request.headers);
    // The gateway measures the length itself and ignores the client's Content-Length.
    delete headers["content-length"];
    const body =
      bytes && bytes.length > 0 ? { body: isText(headers) && isUtf8(bytes) ? Buffer.from(bytes).toString() : bytes } : {};
    const target = `${pathname}${search}`;
    if (streams && ["GET", "HEAD", "OPTIONS"].includes(request.method) && streamPaths.some((pattern) => pattern.test(pathname)))
      return answerStream(
        functions,
        functionUrlEvent(request.method, target, { headers, ...body, sourceIp: sourceIp() }),
        request,
      );
    const { group, key } = routeOf(request.method, pathname);
    try {
      const event = apiGatewayEvent(request.method, target, { headers, ...body, sourceIp: sourceIp(), routeKey: key });
      if (JSON.stringify(event).length > LARGEST_PAYLOAD) return refusal(413, "Request Too Long");
      const result = await functions.invoke(group, event);
      if (JSON.stringify(result).length > LARGEST_PAYLOAD) return refusal(500, "Internal Server Error");
      return toResponse(result);
    } catch (error) {
      if (!(error instanceof LambdaError)) throw error;
      return error.type === "Sandbox.Timedout" ? refusal(503, "Service Unavailable") : refusal(500, "Internal Server Error");
    }
  };
}

/** Builds an error that API Gateway answers itself. */
const refusal = (status: number, message: string) => Response.json({ message }, { status });

/** Returns the streaming answer of the function URL. */
function answerStream(functions: Functions, event: APIGatewayProxyEventV2, request: Request): Promise<Response> {
  const answered = Promise.withResolvers<Response>();
  const disconnected = new AbortController();
  const leave = () => disconnected.abort();
  if (request.signal.aborted) leave();
  request.signal.addEventListener("abort", leave, { once: true });
  let sink: ReadableStreamDefaultController<Uint8Array> | undefined;
  const encoder = new TextEncoder();
  const body = new ReadableStream<Uint8Array>({
    start: (controller) => void (sink = controller),
    cancel: leave,
  });
  const listeners: StreamListeners = {
    onHead: (head) => answered.resolve(withHead(head, body)),
    onChunk: (chunk) => disconnected.signal.aborted || sink?.enqueue(encoder.encode(chunk)),
  };
  functions.stream(event, listeners, disconnected.signal).then(
    ({ error }) => {
      if (disconnected.signal.aborted) return;
      if (error) sink?.error(error);
      else sink?.close();
    },
    (error: unknown) => {
      answered.resolve(refusal(502, "Internal Server Error"));
      if (!disconnected.signal.aborted) sink?.error(error);
    },
  );
  return answered.promise;
}

function withHead({ statusCode, headers, cookies }: StreamedResponse["head"], body: ReadableStream<Uint8Array>): Response {
  const response = toResponse({ statusCode, headers, cookies });
  return response.body === null ? response : new Response(body, { status: statusCode, headers: response.headers });
}
