import { BlockList, isIP } from "node:net";
import type { Log } from "@board/core/log";

/** Finds the client's address behind trusted proxies (contract conventions.md §11). */
export type ClientAddress = (socket: string | null, headers: Headers) => string;

export function clientAddress(trusted: readonly string[], log: Log): ClientAddress {
  const proxies = toBlockList(trusted, log);
  const isTrusted = (address: string) => proxies.check(address, isIP(address) === 6 ? "ipv6" : "ipv4");
  return (socket, headers) => {
    const peer = bare(socket ?? "");
    if (!peer) return "unknown";
    if (!isTrusted(peer)) return peer;
    let client = peer;
    // From the right: everything to the left of the first untrusted hop is only what that hop claims.
    for (const hop of (headers.get("x-forwarded-for") ?? "").split(",").reverse()) {
      const address = bare(hop);
      if (!address) break;
      client = address;
      if (!isTrusted(address)) break;
    }
    return client;
  };
}

/** An address without port, brackets, zone and IPv4 mapping; empty for anything else. */
function bare(text: string): string {
  const host = /^\[([^\]]+)\](?::\d+)?$/.exec(text.trim())?.[1] ?? /^([\d.]+):\d+$/.exec(text.trim())?.[1] ?? text.trim();
  const address = host.replace(/%.*$/, "").replace(/^::ffff:(?=\d+\.)/i, "");
  return isIP(address) ? address : "";
}

function toBlockList(entries: readonly string[], log: Log): BlockList {
  const list = new BlockList();
  let bad = 0;
  for (const entry of entries) {
    const [address = "", prefix] = entry.split("/");
    const family = isIP(address) === 6 ? "ipv6" : "ipv4";
    const bits = prefix === undefined ? (family === "ipv6" ? 128 : 32) : Number(prefix || Number.NaN);
    try {
      list.addSubnet(address, bits, family);
    } catch {
      bad++;
    }
  }
  if (bad > 0) log.warn("settings.trusted_proxies", `${bad} entries of TRUSTED_PROXIES are no address or CIDR and are skipped`);
  return list;
}
