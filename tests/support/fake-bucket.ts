/** The few calls of S3 that the service makes, on loopback. It speaks the wire protocol, so the tests use the real client. */
import { once } from "node:events";
import { createHash } from "node:crypto";
import { createServer, type IncomingMessage, type ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";
import { buffer } from "node:stream/consumers";
import { crc32 } from "node:zlib";

/** A rule as `put-bucket-cors` takes it. */
export interface CorsRule {
  AllowedOrigins: string[];
  AllowedMethods: string[];
  AllowedHeaders: string[];
  ExposeHeaders: string[];
}

export interface FakeBucket {
  readonly url: string;
  /** The objects by path: bucket and key. */
  readonly objects: Map<string, Buffer>;
  /** Method and path of every call, with the range that it asks for. */
  readonly calls: string[];
  /** The CORS rule of the bucket. Without a rule, pages of other origins get no answer. */
  cors: CorsRule | null;
  /** `up` answers, `refusing` forbids every call, `failing` answers 503, and `silent` never answers. */
  state: "up" | "refusing" | "failing" | "silent";
  close(): Promise<void>;
}

const toError = (code: string) =>
  `<?xml version="1.0" encoding="UTF-8"?><Error><Code>${code}</Code><Message>No</Message></Error>`;

export async function startFakeBucket(): Promise<FakeBucket> {
  const answer = async (request: IncomingMessage, response: ServerResponse) => {
    if (request.method === "OPTIONS") return preflight(request, response);
    for (const [name, value] of Object.entries(corsHeaders(bucket.cors, request.headers.origin, request.method!)))
      response.setHeader(name, value);
    // A sender that goes away stores nothing.
    const body = await buffer(request).catch(() => null);
    if (body === null) return;
    const { pathname, searchParams } = new URL(request.url!, "http://bucket");
    const { range } = request.headers;
    bucket.calls.push([request.method, pathname, ...(range ? [range] : [])].join(" "));
    const refuse = (status: number, code: string) =>
      response.writeHead(status, { "content-type": "application/xml" }).end(toError(code));
    if (bucket.state === "silent") return;
    if (bucket.state === "failing") return refuse(503, "SlowDown");
    const isPresigned = searchParams.has("X-Amz-Signature");
    // S3 refuses a request that is signed in two ways, such as one with the credentials of another service.
    if (isPresigned && request.headers.authorization !== undefined) return refuse(400, "InvalidArgument");
    if (bucket.state === "refusing" || !(isPresigned || request.headers.authorization?.startsWith("AWS4-HMAC-SHA256 ")))
      return refuse(403, "AccessDenied");
    if (request.method === "PUT") {
      const isSigned = (name: string) => searchParams.get("X-Amz-SignedHeaders")?.split(";").includes(name) ?? false;
      if (isPresigned && !(isSigned("content-length") && isSigned("x-amz-checksum-sha256"))) return refuse(403, "AccessDenied");
      const sum = isPresigned ? sha256(body) : checksum(body);
      if (request.headers[isPresigned ? "x-amz-checksum-sha256" : "x-amz-checksum-crc32"] !== sum)
        return refuse(400, "BadDigest");
      bucket.objects.set(pathname, body);
      return response.writeHead(200).end();
    }
    if (request.method === "DELETE") {
      bucket.objects.delete(pathname);
      return response.writeHead(204).end();
    }
    const object = bucket.objects.get(pathname);
    if (!object) return refuse(404, "NoSuchKey");
    const part = partOf(object.length, range);
    if (part === null) return refuse(416, "InvalidRange");
    const wanted = {
      disposition: searchParams.get("response-content-disposition"),
      type: searchParams.get("response-content-type"),
    };
    const headers = {
      "accept-ranges": "bytes",
      "content-length": part.end - part.start,
      ...(part.isRange && { "content-range": `bytes ${part.start}-${part.end - 1}/${object.length}` }),
      ...(wanted.disposition && { "content-disposition": wanted.disposition }),
      ...(wanted.type && { "content-type": wanted.type }),
    };
    return response.writeHead(part.isRange ? 206 : 200, headers).end(object.subarray(part.start, part.end));
  };
  const preflight = (request: IncomingMessage, response: ServerResponse) => {
    const { origin, "access-control-request-method": method, "access-control-request-headers": asked } = request.headers;
    const names = asked?.split(",").map((name) => name.trim()) ?? [];
    const headers = corsHeaders(bucket.cors, origin, String(method), names);
    bucket.calls.push(`OPTIONS ${method}`);
    return response.writeHead(headers["access-control-allow-origin"] === undefined ? 403 : 200, headers).end();
  };
  const server = createServer((request, response) => void answer(request, response));
  server.listen(0, "127.0.0.1");
  await once(server, "listening");
  const bucket: FakeBucket = {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    objects: new Map(),
    calls: [],
    cors: null,
    state: "up",
    async close() {
      server.close();
      server.closeAllConnections();
      await once(server, "close");
    },
  };
  return bucket;
}

/** Returns the headers that S3 adds to an answer to a page: none if the rule does not allow the request. */
function corsHeaders(
  rule: CorsRule | null,
  origin: string | undefined,
  method: string,
  asked: string[] = [],
): Record<string, string> {
  const allows = (list: string[], name: string) =>
    list.some((entry) => entry === "*" || entry.toLowerCase() === name.toLowerCase());
  if (!rule || origin === undefined || !allows(rule.AllowedOrigins, origin) || !allows(rule.AllowedMethods, method)) return {};
  if (!asked.every((name) => allows(rule.AllowedHeaders, name))) return {};
  return {
    "access-control-allow-origin": rule.AllowedOrigins.includes("*") ? "*" : origin,
    "access-control-allow-methods": rule.AllowedMethods.join(", "),
    ...(asked.length > 0 && { "access-control-allow-headers": asked.join(", ") }),
    "access-control-expose-headers": rule.ExposeHeaders.join(", "),
  };
}

/** Returns the part of an object that a range asks for, or null if it begins after the end. S3 ignores a malformed range. */
function partOf(size: number, range: string | undefined): { start: number; end: number; isRange: boolean } | null {
  const whole = { start: 0, end: size, isRange: false };
  const [, first, last] = /^bytes=(\d*)-(\d*)$/.exec(range ?? "") ?? [];
  if ((first ?? "") === "" && (last ?? "") === "") return whole;
  if (first === "") return { start: Math.max(0, size - Number(last)), end: size, isRange: true };
  if (last !== "" && Number(last) < Number(first)) return whole;
  if (Number(first) >= size) return null;
  return { start: Number(first), end: last === "" ? size : Math.min(size, Number(last) + 1), isRange: true };
}

const sha256 = (body: Buffer) => createHash("sha256").update(body).digest("base64");

/** Computes the checksum of an object. S3 refuses an object whose bytes do not match the checksum that the client sent. */
function checksum(body: Buffer): string {
  const bytes = Buffer.alloc(4);
  bytes.writeUInt32BE(crc32(body));
  return bytes.toString("base64");
}
