/** The few calls of S3 that the service makes, on loopback. It speaks the wire protocol, so the tests use the real client. */
import { once } from "node:events";
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
    const { pathname } = new URL(request.url!, "http://bucket");
    const { range } = request.headers;
    bucket.calls.push([request.method, pathname, ...(range ? [range] : [])].join(" "));
    const refuse = (status: number, code: string) =>
      response.writeHead(status, { "content-type": "application/xml" }).end(toError(code));
    if (bucket.state === "silent") return;
    if (bucket.state === "failing") return refuse(503, "SlowDown");
    if (bucket.state === "refusing" || !request.headers.authorization?.startsWith("AWS4-HMAC-SHA256 "))
      return refuse(403, "AccessDenied");
    if (request.method === "PUT") {
      if (request.headers["x-amz-checksum-crc32"] !== checksum(body)) return refuse(400, "BadDigest");
      bucket.objects.set(pathname, body);
      return response.writeHead(200).end();
    }
    if (request.method === "DELETE") {
      bucket.objects.delete(pathname);
      return response.writeHead(204).end();
    }
    const object = bucket.objects.get(pathname);
    if (!object) return refuse(404, "NoSuchKey");
    const end = /^bytes=0-(\d+)$/.exec(range ?? "")?.[1];
    const part = end === undefined ? object : object.subarray(0, Number(end) + 1);
    return response.writeHead(end === undefined ? 200 : 206, { "content-length": part.length }).end(part);
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

/** S3 refuses an object whose bytes do not match the checksum that the client computed. */
function checksum(body: Buffer): string {
  const bytes = Buffer.alloc(4);
  bytes.writeUInt32BE(crc32(body));
  return bytes.toString("base64");
}
