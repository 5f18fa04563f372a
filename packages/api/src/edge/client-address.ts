import { BlockList, isIP } from "node:net";
import type { Log } from "@board/core/values/log";

/** Returns the client's address behind trusted proxies (docs/reference/conventions.md#client-address). */
type ClientAddressResolver = (socket: string | null, headers: Headers) => string;

/** Returns a function that tells whether an address is one of TRUSTED_PROXIES. */
export function createProxyMatcher(trusted: readonly string[], log: Log): (address: string) => boolean {
  const proxies = createBlockList(trusted, log);
  return (address) => proxies.check(address, isIP(address) === 6 ? "ipv6" : "ipv4");
}

/** Anyone can send X-Forwarded-For, so the number of logged proxies is limited. */
const MAX_RECORDED_PROXIES = 4;

/**
 * Creates a resolver. It logs each address that looks like a proxy but is not trusted, and passes it to `recordUntrustedProxy`,
 * once.
 */
export function createClientAddressResolver(
  trusted: readonly string[],
  log: Log,
  recordUntrustedProxy: (address: string) => void = () => {},
): ClientAddressResolver {
  const isTrusted = createProxyMatcher(trusted, log);
  const noted = new Set<string>();
  const noteIfProxy = (peer: string, headers: Headers) => {
    if (noted.size >= MAX_RECORDED_PROXIES || noted.has(peer) || !namesOthers(peer, headers)) return;
    noted.add(peer);
    log.warn("http.untrusted_proxy", `${describeUntrustedProxy(peer)}. ${UNTRUSTED_PROXY_REMEDY}`, { peer });
    recordUntrustedProxy(peer);
  };
  return (socket, headers) => {
    const peer = parseAddress(socket ?? "");
    if (!peer) return "unknown";
    if (!isTrusted(peer)) {
      noteIfProxy(peer, headers);
      return peer;
    }
    let client = peer;
    // Read from the right: the first untrusted hop may have forged everything to its left.
    for (const hop of (headers.get("x-forwarded-for") ?? "").split(",").reverse()) {
      const address = parseAddress(hop);
      if (!address) break;
      client = address;
      if (!isTrusted(address)) break;
    }
    return client;
  };
}

/** Describes an untrusted proxy, for the log and for the doctor. */
export const describeUntrustedProxy = (address: string): string =>
  `Requests from ${address} name other clients in X-Forwarded-For, but TRUSTED_PROXIES does not list it`;
export const UNTRUSTED_PROXY_REMEDY =
  "If it is a proxy of yours, add it to TRUSTED_PROXIES and restart the service: until then all its clients share the budgets of one address.";

function namesOthers(peer: string, headers: Headers): boolean {
  const hops = headers.get("x-forwarded-for")?.split(",").map(parseAddress) ?? [];
  // API Gateway adds the address of the peer, even if no proxy is involved.
  if (hops.at(-1) === peer) hops.pop();
  return hops.some(Boolean);
}

/** Returns an address without port, brackets, zone and IPv4 mapping, or an empty string if it is not an address. */
export function parseAddress(text: string): string {
  const host = /^\[([^\]]+)\](?::\d+)?$/.exec(text.trim())?.[1] ?? /^([\d.]+):\d+$/.exec(text.trim())?.[1] ?? text.trim();
  const address = host.split("%", 1)[0]!.replace(/^::ffff:(?=\d+\.)/i, "");
  return isIP(address) ? address : "";
}

function createBlockList(entries: readonly string[], log: Log): BlockList {
  const list = new BlockList();
  let invalidEntries = 0;
  for (const entry of entries) {
    const [address = "", prefix] = entry.split("/");
    const family = isIP(address) === 6 ? "ipv6" : "ipv4";
    const bits = prefix === undefined ? (family === "ipv6" ? 128 : 32) : Number(prefix || Number.NaN);
    try {
      list.addSubnet(address, bits, family);
    } catch {
      invalidEntries++;
    }
  }
  if (invalidEntries > 0)
    log.warn(
      "settings.invalid_trusted_proxies",
      `${invalidEntries} entries of TRUSTED_PROXIES are neither an address nor a CIDR range and are ignored`,
    );
  return list;
}
