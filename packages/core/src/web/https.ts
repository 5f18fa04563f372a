import type { IncomingMessage } from "node:http";
import { request } from "node:https";
import { isIP } from "node:net";
import { type Address, bareHost, isPublic, type Resolve, resolveName } from "../address.ts";
import { type Limits, type Web, type WebAnswer, WebError } from "./web.ts";

/** Where a url leads; replaced in tests, where other people's hosts are on loopback. */
export type Locate = (url: URL) => Promise<{ addresses: readonly Address[]; port: number }>;

export interface WebOptions {
  locate?: Locate;
  /** Certificates to trust beside the system's, PEM. */
  ca?: string;
}

const HTTPS_PORT = 443;

/** The addresses behind a url's host; refused as a whole when any of them is not public. */
export const locatePublic =
  (resolve: Resolve = resolveName): Locate =>
  async (url) => {
    const hostname = bareHost(url.hostname);
    const literal = isIP(hostname);
    const found = literal === 0 ? await resolve(hostname) : [{ address: hostname, family: literal }];
    if (found.length === 0 || !found.every(({ address }) => isPublic(address)))
      throw new WebError("refused_address", `${url.hostname} is not a public host`);
    const addresses = found.map(({ address, family }): Address => ({ address, family: family === 6 ? 6 : 4 }));
    return { addresses, port: url.port === "" ? HTTPS_PORT : Number(url.port) };
  };

/**
 * Fetches over https from public hosts only. Names are resolved once, and the socket is connected to an address that was
 * checked, so that no second look-up can answer differently (DNS rebinding).
 */
export function createWeb({ locate = locatePublic(), ca }: WebOptions = {}): Web {
  return {
    async get(text, limits) {
      const url = URL.parse(text);
      if (url?.protocol !== "https:" || url.username !== "" || url.password !== "")
        throw new WebError("refused_address", "Only https addresses without credentials are fetched");
      const { signal, connected, end } = startClock(limits);
      try {
        const { addresses, port } = await orAborted(locate(url), signal);
        const response = await send(url, { addresses, port, signal, ca, onConnect: connected });
        response.once("close", end);
        return toAnswer(url, response, limits, signal);
      } catch (error) {
        end();
        throw toWebError(url, error, signal.aborted);
      }
    },
  };
}

/** Aborts when either time is over; that for connecting counts until `connected`, that in all until `end`. */
function startClock({ connect_ms, total_ms }: Limits) {
  const clock = new AbortController();
  const abort = () => clock.abort();
  const connecting = setTimeout(abort, connect_ms);
  const all = setTimeout(abort, total_ms);
  const connected = () => clearTimeout(connecting);
  const end = () => {
    connected();
    clearTimeout(all);
  };
  return { signal: clock.signal, connected, end };
}

interface Dial {
  addresses: readonly Address[];
  port: number;
  signal: AbortSignal;
  ca: string | undefined;
  onConnect(): void;
}

function send(url: URL, { addresses, port, signal, ca, ...dial }: Dial): Promise<IncomingMessage> {
  const { promise, resolve, reject } = Promise.withResolvers<IncomingMessage>();
  const outgoing = request(
    {
      host: bareHost(url.hostname),
      // The name that the certificate must be for; none is asked for by address.
      servername: isIP(bareHost(url.hostname)) === 0 ? bareHost(url.hostname) : "",
      port,
      path: url.pathname + url.search,
      // Compressed answers would pass a size limit and unfold behind it.
      headers: { host: url.host, accept: "*/*", "accept-encoding": "identity", "user-agent": "board-coordination" },
      signal,
      // A connection of its own: one that is kept could belong to another look-up of the name.
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
  outgoing.on("socket", (socket) => socket.once("secureConnect", () => dial.onConnect()));
  outgoing.on("error", reject);
  // An answer that changes the protocol ends without an error; after any other there is nothing left to reject.
  outgoing.on("close", () => reject(new Error("closed without an answer")));
  outgoing.end();
  return promise;
}

function toAnswer(url: URL, response: IncomingMessage, limits: Limits, signal: AbortSignal): WebAnswer {
  // What goes wrong with the body is told to whoever reads it, and to nobody else.
  response.on("error", () => {});
  const body = readParts(url, response, limits, signal);
  const end = body.return.bind(body);
  // A generator that was not begun has nothing to clean up when it ends: the connection would stay until the time is over.
  body.return = (value) => {
    response.destroy();
    return end(value);
  };
  return { status: response.statusCode ?? 0, headers: response.headers, body };
}

async function* readParts(
  url: URL,
  response: IncomingMessage,
  { max_bytes }: Limits,
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
    throw toWebError(url, error, signal.aborted);
  } finally {
    response.destroy();
  }
}

const tooLarge = (url: URL, max_bytes: number) => new WebError("too_large", `${url.hostname} sent more than ${max_bytes} bytes`);

function toWebError(url: URL, error: unknown, late: boolean): WebError {
  if (error instanceof WebError) return error;
  return late
    ? new WebError("timeout", `${url.hostname} took too long`, { cause: error })
    : new WebError("unreachable", `${url.hostname} could not be reached`, { cause: error });
}

/** Name resolution cannot be cancelled, only left behind. */
async function orAborted<T>(work: Promise<T>, signal: AbortSignal): Promise<T> {
  const { promise, reject } = Promise.withResolvers<never>();
  const abort = () => reject(signal.reason);
  signal.addEventListener("abort", abort, { once: true });
  try {
    return await Promise.race([work, promise]);
  } finally {
    signal.removeEventListener("abort", abort);
  }
}
