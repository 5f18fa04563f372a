/** The events that AWS services send to a function, and API Gateway's conversion of its result. */
import { randomUUID } from "node:crypto";
import type { APIGatewayProxyEventV2, APIGatewayProxyStructuredResultV2, SQSEvent, SQSRecord } from "aws-lambda";

export interface HttpOptions {
  /** An array stands for a repeated header. */
  headers?: Readonly<Record<string, string | readonly string[]>>;
  body?: string | Uint8Array;
  cookies?: readonly string[];
  /** The client address that API Gateway reports. */
  sourceIp?: string;
  /** The route that matched the request. */
  routeKey?: string;
}

/** Content types that API Gateway passes as text. All others, including forms and a missing type, become Base64. */
const TEXT = /^(text\/|application\/(json|javascript|xml)\b)/;

/** Checks whether API Gateway passes a body as text. The names of the headers are in lower case. */
export const isText = (headers: Readonly<Record<string, string>>): boolean =>
  TEXT.test(headers["content-type"] ?? "") && headers["content-encoding"] === undefined;

/** Builds an API Gateway event in payload format 2.0. `url` is a percent-encoded path with a query. */
export function apiGatewayEvent(method: string, url: string, options: HttpOptions = {}): APIGatewayProxyEventV2 {
  const event = httpEvent(method, url, "abc123.execute-api.us-east-1.amazonaws.com", options);
  // HTTP APIs decode the path and lose everything after a decoded question mark.
  const [decoded = ""] = decodedPath(event.rawPath).split("?");
  event.rawPath = decoded;
  event.requestContext.http.path = decoded;
  return event;
}

/** Decodes a path. A path that cannot be decoded stays unchanged, because AWS does not document what happens to it. */
function decodedPath(path: string): string {
  try {
    return decodeURIComponent(path);
  } catch {
    return path;
  }
}

/** Builds an event of a function URL: its format is API Gateway's, but the path is not decoded. */
export const functionUrlEvent = (method: string, url: string, options: HttpOptions = {}): APIGatewayProxyEventV2 =>
  httpEvent(method, url, "abc123.lambda-url.us-east-1.on.aws", options);

function httpEvent(method: string, url: string, domain: string, options: HttpOptions): APIGatewayProxyEventV2 {
  const { body, sourceIp = "203.0.113.7", routeKey = "$default" } = options;
  const queryAt = url.indexOf("?");
  const path = queryAt < 0 ? url : url.slice(0, queryAt);
  const query = queryAt < 0 ? "" : url.slice(queryAt + 1);
  const headers = lowerCased(options.headers ?? {});
  const cookies = [...(options.cookies ?? []), ...(headers.cookie?.split(/; */) ?? [])];
  delete headers.cookie;
  const asText = typeof body === "string" && isText(headers);
  const bytes = body === undefined ? null : Buffer.from(body);
  const parameters = joined(new URLSearchParams(query));
  return {
    version: "2.0",
    routeKey,
    rawPath: path,
    rawQueryString: query,
    ...(cookies.length > 0 ? { cookies } : {}),
    headers: {
      ...(bytes ? { "content-length": String(bytes.length) } : {}),
      ...headers,
      host: domain,
      "x-amzn-trace-id": `Root=1-${randomUUID().slice(0, 8)}-${randomUUID().replaceAll("-", "").slice(0, 24)}`,
      "x-forwarded-for": [headers["x-forwarded-for"], sourceIp].filter(Boolean).join(", "),
      "x-forwarded-port": "443",
      "x-forwarded-proto": "https",
    },
    ...(Object.keys(parameters).length > 0 ? { queryStringParameters: parameters } : {}),
    requestContext: {
      accountId: "123456789012",
      apiId: domain.slice(0, domain.indexOf(".")),
      domainName: domain,
      domainPrefix: domain.slice(0, domain.indexOf(".")),
      http: { method, path, protocol: "HTTP/1.1", sourceIp, userAgent: headers["user-agent"] ?? "" },
      requestId: randomUUID(),
      routeKey,
      stage: "$default",
      time: "01/Jan/2026:00:00:00 +0000",
      timeEpoch: Date.now(),
    },
    ...(bytes ? { body: asText ? bytes.toString() : bytes.toString("base64") } : {}),
    isBase64Encoded: bytes !== null && !asText,
  };
}

/** Converts header names to lower case and joins repeated headers with commas. */
const lowerCased = (headers: NonNullable<HttpOptions["headers"]>): Record<string, string> =>
  joined(Object.entries(headers).flatMap(([name, value]) => [value].flat().map((text) => [name.toLowerCase(), text] as const)));

function joined(pairs: Iterable<readonly [string, string]>): Record<string, string> {
  const result: Record<string, string> = {};
  for (const [name, value] of pairs) result[name] = result[name] === undefined ? value : `${result[name]},${value}`;
  return result;
}

/** Converts a function's result to the HTTP response of API Gateway. */
export function toResponse(result: APIGatewayProxyStructuredResultV2): Response {
  const { statusCode = 200, body = "", isBase64Encoded = false } = result;
  const headers = new Headers();
  for (const [name, value] of Object.entries(result.headers ?? {})) headers.set(name, String(value));
  for (const cookie of result.cookies ?? []) headers.append("set-cookie", cookie);
  const empty = [101, 204, 205, 304].includes(statusCode);
  return new Response(empty ? null : isBase64Encoded ? Buffer.from(body, "base64") : body, { status: statusCode, headers });
}

/** Builds a batch of SQS messages with the ids m0, m1 and so on. Bodies that are not strings are sent as JSON. */
export const sqsEvent = (bodies: readonly unknown[], record: Partial<SQSRecord> = {}): SQSEvent => ({
  Records: bodies.map((body, index) => ({
    messageId: `m${index}`,
    receiptHandle: `r${index}`,
    body: typeof body === "string" ? body : JSON.stringify(body),
    attributes: {
      ApproximateReceiveCount: "1",
      ApproximateFirstReceiveTimestamp: String(Date.now()),
      SenderId: "000000000000",
      SentTimestamp: String(Date.now()),
    },
    messageAttributes: {},
    md5OfBody: "",
    eventSource: "aws:sqs",
    eventSourceARN: "arn:aws:sqs:us-east-1:123456789012:deliveries",
    awsRegion: "us-east-1",
    ...record,
  })),
});

/** Builds the event of a schedule in `infra/schedules.ts`. EventBridge Scheduler writes the time without fractions of a second. */
export const scheduleEvent = (schedule: string, scheduledTime = new Date()): { schedule: string; scheduledTime: string } => ({
  schedule,
  scheduledTime: scheduledTime.toISOString().replace(/\.\d+Z$/, "Z"),
});
