/**
 * API Gateway's HTTP API on loopback: finds the function of a request by the routes of the manifest, makes the event of
 * payload format 2.0, and turns the function's result into an answer. Streams go to their function URL instead, as the
 * OpenAPI document tells clients to do.
 */
import { isUtf8 } from "node:buffer";
import { endpoints } from "@board/api/groups";
import { isStream } from "@board/api/endpoint";
import { toPattern } from "@board/api/app";
import { type ApiGroup, groups } from "@board/functions/manifest";
import type { APIGatewayProxyEventV2, APIGatewayProxyStructuredResultV2 } from "aws-lambda";
import { apiGatewayEvent, functionUrlEvent, isText, toResponse } from "./events.ts";
import { LambdaError, type StreamedResponse, type StreamListeners } from "./lambda-host.ts";

/** What is behind the gateway. */
export interface Functions {
  invoke(name: string, event: APIGatewayProxyEventV2): Promise<APIGatewayProxyStructuredResultV2>;
  /** Invokes the streaming function; `signal` says that the client has left. */
  stream(event: APIGatewayProxyEventV2, listeners: StreamListeners, signal: AbortSignal): Promise<StreamedResponse>;
}

export interface GatewayOptions {
  /** The address that a request comes from. */
  sourceIp: () => string;
  /** False: streams are asked of API Gateway, which passes them on when they are whole. */
  streams: boolean;
}

/** Bytes of a request that API Gateway takes; those that Lambda takes in either direction. */
const LARGEST_REQUEST = 10 * 1024 ** 2;
const LARGEST_PAYLOAD = 6 * 1024 ** 2;

const routes = Object.entries<ApiGroup>(groups).flatMap(([group, { routes: keys }]) => keys.map((key) => ({ group, key })));
const streamPaths = endpoints.filter(isStream).flatMap(({ paths }) => paths.map(toPattern));

/**
 * The function and the route that API Gateway picks for a request: a full match wins over a greedy one, the longer one
 * over the shorter, a method of its own over ANY, and `$default` takes the rest.
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

/** Answers like fetch. The request's address is not looked at beyond its path and query. */
export function apiGateway(functions: Functions, { sourceIp, streams }: GatewayOptions): (request: Request) => Promise<Response> {
  return async (request) => {
    const { pathname, search } = new URL(request.url);
    const bytes = request.body === null ? null : new Uint8Array(await request.arrayBuffer());
    if (bytes && bytes.length > LARGEST_REQUEST) return refusal(413, "Request Entity Too Large");
    const headers = Object.fromEntries(request.headers);
    // The length is the gateway's own finding, whatever the client announced.
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

/** What API Gateway answers by itself. */
const refusal = (status: number, message: string) => Response.json({ message }, { status });

/** The answer of the function URL, as it comes. */
function answerStream(functions: Functions, event: APIGatewayProxyEventV2, request: Request): Promise<Response> {
  const answered = Promise.withResolvers<Response>();
  const gone = new AbortController();
  const leave = () => gone.abort();
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
    onChunk: (chunk) => gone.signal.aborted || sink?.enqueue(encoder.encode(chunk)),
  };
  functions.stream(event, listeners, gone.signal).then(
    ({ error }) => {
      if (gone.signal.aborted) return;
      if (error) sink?.error(error);
      else sink?.close();
    },
    (error: unknown) => {
      answered.resolve(refusal(502, "Internal Server Error"));
      if (!gone.signal.aborted) sink?.error(error);
    },
  );
  return answered.promise;
}

function withHead({ statusCode, headers, cookies }: StreamedResponse["head"], body: ReadableStream<Uint8Array>): Response {
  const response = toResponse({ statusCode, headers, cookies });
  return response.body === null ? response : new Response(body, { status: statusCode, headers: response.headers });
}
