import { BlockList, isIP } from "node:net";
import { type Address, addRange, bareHost, isPublic, type Resolve, resolveName } from "../address.ts";
import { GatewayError } from "./client.ts";
import { dialUrl } from "./handshake.ts";

/** Which addresses may be dialled (GATEWAY_ALLOWED_HOSTS, contract conventions.md §13). Public ones always may. */
export interface AddressRules {
  /** Host names, addresses or CIDR ranges that may be dialled although they are not public. */
  allowed_hosts: readonly string[];
  private_addresses_allowed: boolean;
}

/**
 * The addresses behind a gateway's url, every one of them checked. The socket must be connected to one of these
 * and not to the name: a second look-up could answer differently (DNS rebinding).
 * Throws a GatewayError with `refused_address`, or the system's error when the name does not resolve.
 */
export async function resolveHost(url: URL, rules: AddressRules, resolve: Resolve = resolveName): Promise<Address[]> {
  const hostname = bareHost(url.hostname);
  const literal = isIP(hostname);
  const found = literal === 0 ? await resolve(hostname) : [{ address: hostname, family: literal }];
  const refused = found.some(
    ({ address }) => !isPublic(address) && !rules.private_addresses_allowed && !isListed(hostname, address, rules),
  );
  if (refused) throw new GatewayError("Gateway host is not allowed.", { refused_address: true, retryable: false });
  return found.map(({ address, family }) => ({ address, family: family === 6 ? 6 : 4 }));
}

/**
 * Whether a gateway at this url may be registered. A name that does not resolve now is allowed:
 * it is only unreachable, and every connection checks again.
 */
export async function isAllowedHost(url: string, rules: AddressRules, resolve: Resolve = resolveName): Promise<boolean> {
  try {
    await resolveHost(dialUrl(url), rules, resolve);
    return true;
  } catch (error) {
    return !(error instanceof GatewayError && error.failure.refused_address);
  }
}

function isListed(hostname: string, address: string, rules: AddressRules): boolean {
  const bare = address.split("%", 1)[0] ?? "";
  return rules.allowed_hosts.some((entry) => {
    const listed = bareHost(entry.trim());
    if (listed === hostname) return true;
    const range = new BlockList();
    return addRange(range, listed) && range.check(bare, isIP(bare) === 6 ? "ipv6" : "ipv4");
  });
}
