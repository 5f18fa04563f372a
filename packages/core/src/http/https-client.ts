import type { IncomingMessage } from "node:http";
import { isIP } from "node:net";
import {
  type Address,
  type AddressRules,
  addressesOf,
  isAllowedPrivately,
  isNamedIn,
  isPublicAddress,
  normalizeHost,
  type ResolveName,
} from "../dns/address.ts";
import { resolveName } from "../dns/resolver.ts";
import { type FetchLimits, type HttpClient, type HttpResponse, FetchError } from "../context/http-client.ts";
import { untilAborted } from "../values/concurrency.ts";

/** Resolves a URL to addresses and a port. Tests replace it, because their servers are on loopback. */
export type LocateHost = (url: URL) => Promise<{ addresses: readonly Address[]; port: number }>;

/** Resolves the URL of a receiver that a tenant chose. Throws a FetchError if posting to it is not allowed. */
type LocateReceiver = (url: URL, organization_id: string) => ReturnType<LocateHost>;

interface HttpClientOptions {
  locate?: LocateHost;
  locateReceiver?: LocateReceiver;
  /** PEM certificates of the authorities to trust instead of the system's authorities. */
  ca?: string;
}

const HTTP_PORT = 80;
const HTTPS_PORT = 443;

/** Resolves a URL that no tenant chose. Refuses the host if any of its addresses is not public. */
export const locatePublicHost =
  (resolve: ResolveName = resolveName): LocateHost =>
  async (url) => {
    const addresses = await addressesOf(normalizeHost(url.hostname), resolve, { asks_system: true });
    if (addresses.length === 0 || !addresses.every(({ address }) => isPublicAddress(address)))
      throw new FetchError("refused_address", `${url.hostname} is not a public host`);
    return { addresses, port: portOf(url) };
  };

const NO_PRIVATE_ADDRESSES: AddressRules = { allowed_hosts: [], private_addresses_allowed: false };
const RECEIVER_RULE = "The url must be https, at a public host and port 443";
const refusedReceiver = () => new FetchError("refused_address", RECEIVER_RULE);

/**
 * Resolves a receiver: either a public host over https on port 443, or a host that the operator allows, on any port and also over
 * http.
 */
export const locateAllowedReceiver =
  (resolve: ResolveName = resolveName, rules: AddressRules = NO_PRIVATE_ADDRESSES): LocateReceiver =>
  async (url, organization_id) => {
    const isHttpsPort = url.protocol === "https:" && url.port === "";
    // Any URL other than https on port 443 needs a host that the operator allows. If the operator allows none, the URL is refused
    // without resolving its name.
    if (!isHttpsPort && !rules.private_addresses_allowed && rules.allowed_hosts.length === 0) throw refusedReceiver();
    const hostname = normalizeHost(url.hostname);
    const addresses = await addressesOf(hostname, resolve, { organization_id, asks_system: isNamedIn(hostname, rules) });
    const isPrivatelyAllowed = addresses.every(({ address }) => isAllowedPrivately(hostname, address, rules));
    const isPublic = isHttpsPort && addresses.every(({ address }) => isPublicAddress(address));
    if (addresses.length === 0 || !(isPrivatelyAllowed || isPublic)) throw refusedReceiver();
    return { addresses, port: portOf(url) };
  };

function portOf({ port, protocol }: URL): number {
  if (port !== "") return Number(port);
  return protocol === "http:" ? HTTP_PORT : HTTPS_PORT;
}

/** Parses the URL of a receiver. Refuses credentials and protocols that no rule can allow. */
function toReceiverUrl(text: string): URL {
  const url = URL.parse(text);
  const isHttp = url?.protocol === "https:" || url?.protocol === "http:";
  if (!url || !isHttp || url.username !== "" || url.password !== "") throw refusedReceiver();
  return url;
}

/**
 * Creates a client that fetches from public hosts over https. A name is resolved once and the socket connects to a checked
 * address. Otherwise a second look-up could return a different address (DNS rebinding).
 */
export function createHttpClient(options: HttpClientOptions = {}): HttpClient {
  const { locate = locatePublicHost(), locateReceiver = locateAllowedReceiver(), ca } = options;
  const exchange = async (url: URL, locating: () => ReturnType<LocateHost>, message: Message, limits: FetchLimits) => {
    const { signal, connected, end } = startTimeouts(limits);
    try {
      const located = await untilAborted(locating(), signal);
      if (!located) throw signal.reason;
      const response = await sendRequest(url, { ...located, signal, ca, ...message, onConnect: connected });
      response.once("close", end);
      return toResponse(url, response, limits, signal);
    } catch (error) {
      end();
      throw toFetchError(url, error, signal.aborted);
    }
  };
  return {
    async get(text, limits) {
      const url = URL.parse(text);
      if (url?.protocol !== "https:" || url.username !== "" || url.password !== "")
        throw new FetchError("refused_address", "Only https addresses without credentials are fetched");
      return exchange(url, () => locate(url), { method: "GET", headers: {} }, limits);
    },
    async post(text, { headers, body, organization_id }, limits) {
      const url = toReceiverUrl(text);
      const length = String(Buffer.byteLength(body));
      const message = { method: "POST" as const, headers: { ...headers, "content-length": length }, body };
      return exchange(url, () => locateReceiver(url, organization_id), message, limits);
    },
    async checkReceiver(text, organization_id) {
      const url = toReceiverUrl(text);
      await locateReceiver(url, organization_id).catch((error: unknown) => {
        if (error instanceof FetchError) throw error;
      });
    },
  };
}

interface Message {
  method: "GET" | "POST";
  headers: Readonly<Record<string, string>>;
  body?: string | Uint8Array;
}

/**
 * Starts the timeouts of a request. It is aborted after `connect_ms` unless `connected` was called, and after `total_ms` unless
 * `end` was called.
 */
function startTimeouts({ connect_ms, total_ms }: FetchLimits) {
  const controller = new AbortController();
  const abort = () => controller.abort();
  const connectTimer = setTimeout(abort, connect_ms);
  const totalTimer = setTimeout(abort, total_ms);
  const connected = () => clearTimeout(connectTimer);
  const end = () => {
    connected();
    clearTimeout(totalTimer);
  };
  return { signal: controller.signal, connected, end };
}

interface DialOptions extends Message {
  addresses: readonly Address[];
  port: number;
  signal: AbortSignal;
  ca: string | undefined;
  onConnect(): void;
}

function sendRequest(url: URL, { addresses, port, signal, ca, method, headers, ...dial }: DialOptions): Promise<IncomingMessage> {
  const isTls = url.protocol === "https:";
  // The module is not imported at the top, because Node reads all exports of an imported module, and one export of node:http
  // loads fetch and WebSocket.
  const { request } = process.getBuiltinModule(isTls ? "node:https" : "node:http");
  const { promise, resolve, reject } = Promise.withResolvers<IncomingMessage>();
  const outgoing = request(
    {
      host: normalizeHost(url.hostname),
      // The name that the certificate must match. TLS does not allow an IP address here.
      servername: isIP(normalizeHost(url.hostname)) === 0 ? normalizeHost(url.hostname) : "",
      port,
      method,
      path: url.pathname + url.search,
      // Only uncompressed bodies are accepted, because a compressed body could be within the size limit and then expand beyond
      // it.
      headers: { host: url.host, accept: "*/*", "accept-encoding": "identity", "user-agent": "board-coordination", ...headers },
      signal,
      // Connections are not kept alive, because a pooled connection could lead to an address from an earlier look-up.
      agent: false,
      lookup: (_hostname, options, done) => {
        const [first] = addresses;
        if (options.all) done(null, [...addresses]);
        else done(null, first!.address, first!.family);
      },
      ...(ca === undefined ? {} : { ca }),
    },
    resolve,
  );
  outgoing.on("socket", (socket) => socket.once(isTls ? "secureConnect" : "connect", () => dial.onConnect()));
  outgoing.on("error", reject);
  // If a response switches protocols, the request closes without an error, so the promise must be rejected here. After any other
  // response, the promise is already settled, and rejecting it has no effect.
  outgoing.on("close", () => reject(new Error("closed without a response")));
  outgoing.end(dial.body);
  return promise;
}

function toResponse(url: URL, response: IncomingMessage, limits: FetchLimits, signal: AbortSignal): HttpResponse {
  // The reader of the body gets these errors. Without a listener they would end the process.
  response.on("error", () => {});
  const body = readChunks(url, response, limits, signal);
  const endGenerator = body.return.bind(body);
  // If a generator has not started, `return` skips its `finally`, and the connection would stay open until the timeout.
  body.return = (value) => {
    response.destroy();
    return endGenerator(value);
  };
  return { status: response.statusCode ?? 0, headers: response.headers, body };
}

async function* readChunks(
  url: URL,
  response: IncomingMessage,
  { max_bytes }: FetchLimits,
  signal: AbortSignal,
): AsyncGenerator<Uint8Array, void> {
  const announced = Number(response.headers["content-length"] ?? 0);
  let size = 0;
  try {
    if (announced > max_bytes) throw tooLarge(url, max_bytes);
    for await (const chunk of response as AsyncIterable<Buffer>) {
      size += chunk.length;
      if (size > max_bytes) throw tooLarge(url, max_bytes);
      yield chunk;
    }
  } catch (error) {
    throw toFetchError(url, error, signal.aborted);
  } finally {
    response.destroy();
  }
}

const tooLarge = (url: URL, max_bytes: number) =>
  new FetchError("too_large", `${url.hostname} sent more than ${max_bytes} bytes`);

function toFetchError(url: URL, error: unknown, isTimedOut: boolean): FetchError {
  if (error instanceof FetchError) return error;
  return isTimedOut
    ? new FetchError("timeout", `${url.hostname} took too long`, { cause: error })
    : new FetchError("unreachable", `${url.hostname} could not be reached`, { cause: error });
}
