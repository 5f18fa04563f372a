import type { IncomingMessage } from "node:http";
import type { Host } from "./host.ts";

const LOOPBACK = new Set(["localhost", "127.0.0.1", "[::1]", "::1"]);

/** Checks whether a Host header (or an Origin's host) names this machine. */
export function isLoopbackName(host: string | undefined): boolean {
  const name = URL.parse(`http://${host ?? ""}`)?.hostname;
  return name !== undefined && LOOPBACK.has(name);
}

/** Checks whether a control UI is allowed: from the host's own page, or from loopback to loopback. */
export function isOriginAllowed({ dialect }: Host, upgrade: IncomingMessage): boolean {
  const origin = URL.parse(upgrade.headers.origin ?? "");
  if (origin === null) return false;
  if (isLoopbackName(origin.host) && isLoopbackName(upgrade.headers.host)) return true;
  return dialect.origin_may_equal_host && origin.host === upgrade.headers.host;
}
