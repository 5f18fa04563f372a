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
      const connecting = new AbortController();
      const late = AbortSignal.timeout(limits.total_ms);
      const patience = setTimeout(() => connecting.abort(), limits.connect_ms);
      const signal = AbortSignal.any([connecting.signal, late]);
      try {
        const { addresses, port } = await orAborted(locate(url), signal);
        const response = await send(url, { addresses, port, signal, ca, onConnect: () => clearTimeout(patience) });
        return toAnswer(url, response, limits);
      } catch (error) {
        throw toWebError(url, error, signal.aborted);
      } finally {
        clearTimeout(patience);
      }
    },
  };
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
  outgoing.end();
  return promise;
}

function toAnswer(url: URL, response: IncomingMessage, { max_bytes }: Limits): WebAnswer {
  const announced = Number(response.headers["content-length"] ?? 0);
  async function* body(): AsyncGenerator<Uint8Array, void> {
    let size = 0;
    try {
      if (announced > max_bytes) throw tooLarge(url, max_bytes);
      for await (const chunk of response as AsyncIterable<Buffer>) {
        size += chunk.length;
        if (size > max_bytes) throw tooLarge(url, max_bytes);
        yield chunk;
      }
    } catch (error) {
      throw toWebError(url, error, isAbort(error));
    } finally {
      response.destroy();
    }
  }
  // A body that nobody reads would keep its socket; an error of it is told by the body alone.
  response.on("error", () => {});
  return { status: response.statusCode ?? 0, headers: response.headers, body: body() };
}

const tooLarge = (url: URL, max_bytes: number) => new WebError("too_large", `${url.hostname} sent more than ${max_bytes} bytes`);

const isAbort = (error: unknown) => error instanceof Error && (error.name === "AbortError" || error.name === "TimeoutError");

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
