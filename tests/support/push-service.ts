import { createDecipheriv, createECDH, hkdfSync, randomBytes } from "node:crypto";
import { createServer, type IncomingHttpHeaders } from "node:http";
import type { AddressInfo } from "node:net";
import { buffer } from "node:stream/consumers";

const CURVE = "prime256v1";

interface ReceivedPush {
  headers: IncomingHttpHeaders;
  size: number;
  // oxlint-disable-next-line typescript/no-explicit-any -- the message is what the service sent
  message: any;
}

/** What a browser gives to a service to which it subscribes. */
export interface BrowserSubscription {
  endpoint: string;
  keys: { p256dh: string; auth: string };
}

export interface PushService {
  /** Makes a subscription, as a browser does. */
  subscribe(): BrowserSubscription;
  /** The messages of a subscription, decrypted as its browser does. */
  messagesOf(subscription: BrowserSubscription): ReceivedPush[];
  /** Number of requests to a subscription, refused ones included. */
  requestsTo(subscription: BrowserSubscription): number;
  /** Makes the service answer requests of a subscription with a status, or never. With null it accepts messages again. */
  answer(subscription: BrowserSubscription, status: number | "never" | null, headers?: Record<string, string>): void;
  origin: string;
  close(): Promise<void>;
}

const encode = (bytes: Buffer): string => bytes.toString("base64url");
const derive = (key: Buffer, salt: Buffer, info: Buffer, bytes: number) =>
  Buffer.from(hkdfSync("sha256", key, salt, info, bytes));

interface Browser {
  decrypt(body: Buffer): string;
  received: ReceivedPush[];
  requests: number;
  status: number | "never" | null;
  headers: Record<string, string>;
}

/** Reads a message by the rules of RFC 8291 and RFC 8188. */
export function createReader(): { keys: BrowserSubscription["keys"]; decrypt: (body: Buffer) => string } {
  const pair = createECDH(CURVE);
  const ours = pair.generateKeys();
  const auth = randomBytes(16);
  const decrypt = (body: Buffer): string => {
    const salt = body.subarray(0, 16);
    const length = body.readUInt8(20);
    const theirs = body.subarray(21, 21 + length);
    const content = body.subarray(21 + length);
    if (body.readUInt32BE(16) < content.length) throw new Error("More than one record");
    const secret = derive(pair.computeSecret(theirs), auth, Buffer.concat([Buffer.from("WebPush: info\0"), ours, theirs]), 32);
    const key = derive(secret, salt, Buffer.from("Content-Encoding: aes128gcm\0"), 16);
    const nonce = derive(secret, salt, Buffer.from("Content-Encoding: nonce\0"), 12);
    const decipher = createDecipheriv("aes-128-gcm", key, nonce);
    decipher.setAuthTag(content.subarray(-16));
    const padded = Buffer.concat([decipher.update(content.subarray(0, -16)), decipher.final()]);
    const end = padded.findLastIndex((byte) => byte !== 0);
    if (padded[end] !== 2) throw new Error("The record has no delimiter of a last record");
    return padded.subarray(0, end).toString("utf8");
  };
  return { keys: { p256dh: encode(ours), auth: encode(auth) }, decrypt };
}

/** Starts the push service of a browser on loopback. */
export async function startPushService(): Promise<PushService> {
  const browsers = new Map<string, Browser>();
  const server = createServer((request, response) => {
    void buffer(request).then((body) => {
      const browser = browsers.get(request.url!);
      if (!browser) return response.writeHead(404).end();
      browser.requests += 1;
      const { status, headers } = browser;
      if (status === "never") return undefined;
      if (status !== null) return response.writeHead(status, headers).end();
      browser.received.push({ headers: request.headers, size: body.length, message: JSON.parse(browser.decrypt(body)) });
      return response.writeHead(201).end();
    });
  });
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  const origin = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
  const browserOf = ({ endpoint }: BrowserSubscription) => browsers.get(new URL(endpoint).pathname)!;
  return {
    origin,
    subscribe() {
      const { keys, decrypt } = createReader();
      const path = `/push/${encode(randomBytes(16))}`;
      browsers.set(path, { decrypt, received: [], requests: 0, status: null, headers: {} });
      return { endpoint: origin + path, keys };
    },
    messagesOf: (subscription) => browserOf(subscription).received,
    requestsTo: (subscription) => browserOf(subscription).requests,
    answer: (subscription, status, headers = {}) => void Object.assign(browserOf(subscription), { status, headers }),
    async close() {
      server.closeAllConnections();
      await new Promise((resolve) => server.close(resolve));
    },
  };
}
