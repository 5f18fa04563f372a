/** The few calls of S3 that the service makes, on loopback. It speaks the wire protocol, so the tests use the real client. */
import { once } from "node:events";
import { createHash } from "node:crypto";
import { createServer, type IncomingMessage, type ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";
import { buffer } from "node:stream/consumers";
import { crc32 } from "node:zlib";

export interface FakeBucket {
  readonly url: string;
  /** The objects by path: bucket and key. */
  readonly objects: Map<string, Buffer>;
  /** Method and path of every call, with the range that it asks for. */
  readonly calls: string[];
  /** `up` answers, `refusing` forbids every call, `failing` answers 503, and `silent` never answers. */
  state: "up" | "refusing" | "failing" | "silent";
  close(): Promise<void>;
}

const toError = (code: string) =>
  `<?xml version="1.0" encoding="UTF-8"?><Error><Code>${code}</Code><Message>No</Message></Error>`;

export async function startFakeBucket(): Promise<FakeBucket> {
  const answer = async (request: IncomingMessage, response: ServerResponse) => {
    const body = await buffer(request);
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
    const [, first, last] = /^bytes=(\d+)-(\d+)$/.exec(range ?? "") ?? [];
    const part = last === undefined ? object : object.subarray(Number(first), Number(last) + 1);
    const wanted = {
      disposition: searchParams.get("response-content-disposition"),
      type: searchParams.get("response-content-type"),
    };
    const headers = {
      "content-length": part.length,
      ...(wanted.disposition && { "content-disposition": wanted.disposition }),
      ...(wanted.type && { "content-type": wanted.type }),
    };
    return response.writeHead(last === undefined ? 200 : 206, headers).end(part);
  };
  const server = createServer((request, response) => void answer(request, response));
  server.listen(0, "127.0.0.1");
  await once(server, "listening");
  const bucket: FakeBucket = {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    objects: new Map(),
    calls: [],
    state: "up",
    async close() {
      server.close();
      server.closeAllConnections();
      await once(server, "close");
    },
  };
  return bucket;
}

const sha256 = (body: Buffer) => createHash("sha256").update(body).digest("base64");

/** S3 refuses an object whose bytes do not match the checksum that the client computed. */
function checksum(body: Buffer): string {
  const bytes = Buffer.alloc(4);
  bytes.writeUInt32BE(crc32(body));
  return bytes.toString("base64");
}
