import { BlockList, isIP } from "node:net";
import type { Log } from "@board/core/log";

/** Returns the client's address behind trusted proxies (docs/reference/conventions.md#client-address). */
export type ClientAddressResolver = (socket: string | null, headers: Headers) => string;

/** Returns a function that tells whether an address is one of TRUSTED_PROXIES. */
export function createProxyMatcher(trusted: readonly string[], log: Log): (address: string) => boolean {
  const proxies = createBlockList(trusted, log);
  return (address) => proxies.check(address, isIP(address) === 6 ? "ipv6" : "ipv4");
}

export function createClientAddressResolver(trusted: readonly string[], log: Log): ClientAddressResolver {
  const isTrusted = createProxyMatcher(trusted, log);
  return (socket, headers) => {
    const peer = parseAddress(socket ?? "");
    if (!peer) return "unknown";
    if (!isTrusted(peer)) return peer;
    let client = peer;
    // Read from the right: everything to the left of the first untrusted hop may be forged by that hop.
    for (const hop of (headers.get("x-forwarded-for") ?? "").split(",").reverse()) {
      const address = parseAddress(hop);
      if (!address) break;
      client = address;
      if (!isTrusted(address)) break;
    }
    return client;
  };
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
