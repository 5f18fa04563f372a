import type { Context } from "@board/core/context/context";
import { toCounterKey } from "@board/core/db/rate-limit";
import { APIError } from "better-auth/api";

const LIMITS = { connect_ms: 3_000, total_ms: 5_000, max_bytes: 65_536 };
const MINUTE_MS = 60_000;

/**
 * What one client address may make a process fetch. The library limits all addresses together, so without these limits one address
 * could use that up, and nobody else could connect a new program.
 */
const OF_ADDRESS = { at_once: 2, per_minute: 10 };

/** The library's limits for all addresses together, raised so that only many addresses together reach them. */
export const FETCH_POLICY = { maximumConcurrentFetches: 64, maximumFetchesPerMinute: 6_000 };

interface Fetches {
  running: number;
  count: number;
}

/**
 * Creates the functions that fetch the metadata documents of clients. Only public hosts are contacted, because anybody can name an
 * address in a request to sign in. `currentContext` returns the context of the request.
 */
export function createClientDocuments(currentContext: () => Pick<Context, "http" | "client" | "now">) {
  let minute = 0;
  const byAddress = new Map<string, Fetches>();

  function fetchesOf({ client, now }: Pick<Context, "client" | "now">): Fetches {
    const current = Math.floor(now().getTime() / MINUTE_MS);
    if (current !== minute)
      for (const [key, fetches] of byAddress)
        if (fetches.running === 0) byAddress.delete(key);
        else fetches.count = 0;
    minute = current;
    const key = toCounterKey(client?.address ?? "");
    const fetches = byAddress.get(key) ?? { running: 0, count: 0 };
    byAddress.set(key, fetches);
    return fetches;
  }

  /** Throws if the client address of this request has made the service fetch too much. */
  function requireRoom(): void {
    const { running, count } = fetchesOf(currentContext());
    if (running < OF_ADDRESS.at_once && count < OF_ADDRESS.per_minute) return;
    const description = "Too many programs are being connected from this address. Try again in a minute.";
    throw new APIError("TOO_MANY_REQUESTS", { error: "temporarily_unavailable", error_description: description }, RETRY);
  }

  async function fetchDocument(input: Request | URL | string): Promise<Response> {
    requireRoom();
    const ctx = currentContext();
    const fetches = fetchesOf(ctx);
    fetches.running++;
    fetches.count++;
    try {
      return await fetchWhole(ctx, input instanceof Request ? input.url : String(input));
    } finally {
      fetches.running--;
    }
  }

  return { requireRoom, fetchDocument };
}

const RETRY = { "Retry-After": String(MINUTE_MS / 1000) };

async function fetchWhole({ http }: Pick<Context, "http">, url: string): Promise<Response> {
  const { status, headers, body } = await http.get(url, LIMITS);
  const parts: Uint8Array[] = [];
  for await (const part of body) parts.push(part);
  const sent = Object.entries(headers).flatMap(([name, value]) =>
    value === undefined ? [] : [[name, [value].flat().join(", ")] as [string, string]],
  );
  // The constructor of `Response` accepts no other statuses.
  if (status < 200 || status > 599) throw new TypeError(`The address answered ${status}`);
  const hasBody = ![204, 205, 304].includes(status);
  return new Response(hasBody ? Buffer.concat(parts) : null, { status, headers: sent });
}
