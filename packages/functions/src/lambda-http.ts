/**
 * Converts Lambda's HTTP events to web requests, and responses back. API Gateway's HTTP APIs and function URLs both use payload
 * format 2.0.
 */
import { pipeline } from "node:stream/promises";
import type { App } from "@board/api/runtime";
import type { APIGatewayProxyEventV2, APIGatewayProxyStructuredResultV2 } from "aws-lambda";

type Fetch = App["fetch"];

/** Characters that must be encoded in the path of a URL, because they would end it, be dropped or become a slash. */
const UNSAFE_IN_PATH = /[\0- "#<>?\\^`{|}\x7f]|%(?![\da-f]{2})/gi;

/**
 * Encodes the path, because HTTP APIs pass it on decoded. An encoded slash cannot be restored, so clients must encode a slash
 * inside a segment twice.
 */
const encodePath = (path: string) => path.replaceAll(UNSAFE_IN_PATH, encodeURIComponent);

/** Percent-encodes a value with characters that a header of a web request cannot contain: line breaks, and all above U+00FF. */
const toHeaderValue = (value: string) => (/[\0\r\n]|[^\0-\xff]/.test(value) ? encodeURIComponent(value) : value);

/** Methods that a web request refuses. Under another name they reach the app, which answers them like other unknown methods. */
const REFUSED_METHOD = /^(?:connect|trace|track)$/i;

function toRequest(event: APIGatewayProxyEventV2): Request {
  const sent = event.requestContext.http.method;
  const method = REFUSED_METHOD.test(sent) ? `X-${sent}` : sent;
  const query = event.rawQueryString ? `?${event.rawQueryString}` : "";
  const headers = new Headers();
  for (const [name, value] of Object.entries(event.headers)) if (value !== undefined) headers.set(name, toHeaderValue(value));
  if (event.cookies) headers.set("cookie", toHeaderValue(event.cookies.join("; ")));
  const init: RequestInit = { method, headers };
  if (event.body && method !== "GET" && method !== "HEAD") {
    const body = Buffer.from(event.body, event.isBase64Encoded ? "base64" : "utf8");
    headers.set("content-length", String(body.length));
    init.body = body;
  }
  return new Request(`https://${event.requestContext.domainName}${encodePath(event.rawPath)}${query}`, init);
}

/** Answers an event with `fetch`. The app finds the event in its environment. */
const respond = async (fetch: Fetch, event: APIGatewayProxyEventV2): Promise<Response> => fetch(toRequest(event), { event });

function toHead({ status, headers }: Response) {
  const { "set-cookie": _cookies, ...plain } = Object.fromEntries(headers);
  return { statusCode: status, headers: plain, cookies: headers.getSetCookie() };
}

/** Content types whose bytes are UTF-8 text, which Lambda passes on unchanged. Everything else is passed on in Base64. */
const TEXT = /^(?:text\/|application\/(?:[\w.-]+\+)?(?:json|xml)|application\/javascript)/i;

/** Returns whether the body is passed on as text. A response without a content type has no body. */
const isText = ({ headers }: Response) => !headers.has("content-encoding") && TEXT.test(headers.get("content-type") ?? "text/");

/** Creates a handler that returns complete responses. */
export const createBufferedHandler =
  (fetch: Fetch) =>
  async (event: APIGatewayProxyEventV2): Promise<APIGatewayProxyStructuredResultV2> => {
    const response = await respond(fetch, event);
    const isBase64Encoded = !isText(response);
    const body = isBase64Encoded ? Buffer.from(await response.arrayBuffer()).toString("base64") : await response.text();
    return { ...toHead(response), body, isBase64Encoded };
  };

/** Creates a handler that streams its responses. */
export const createStreamingHandler = (fetch: Fetch) =>
  awslambda.streamifyResponse<APIGatewayProxyEventV2>(async (event, output) => {
    const response = await respond(fetch, event);
    const stream = awslambda.HttpResponseStream.from(output, toHead(response));
    if (response.body) return pipeline(response.body, stream);
    // Lambda sends the status and headers with the first write.
    stream.write("");
    stream.end();
  });
