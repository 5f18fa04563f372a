import { BlockList, isIP } from "node:net";
import { type Address, addRange, normalizeHost, isPublicAddress, type ResolveName } from "../address.ts";
import { resolveName } from "../dns/resolver.ts";
import { GatewayError } from "./gateway-error.ts";
import { toDialUrl } from "./handshake.ts";

/** Which addresses may be dialled (docs/reference/conventions.md#gateway-addresses). Public addresses are always allowed. */
export interface AddressRules {
  /** Host names, addresses or CIDR ranges that may be dialled although they are not public. */
  allowed_hosts: readonly string[];
  private_addresses_allowed: boolean;
}

/**
 * Resolves a gateway's url and checks every address. The socket must connect to one of the returned addresses and not
 * to the name, because a second lookup could answer differently (DNS rebinding). Throws a GatewayError with
 * `refused_address`, or the system's error when the name does not resolve.
 */
export async function resolveHost(
  url: URL,
  rules: AddressRules,
  resolve: ResolveName = resolveName,
  organization_id?: string,
): Promise<Address[]> {
  const hostname = normalizeHost(url.hostname);
  const literal = isIP(hostname);
  // Only names that the operator vouches for may take a thread. Nobody else chooses them, or all users share one token.
  const asks_system = rules.private_addresses_allowed || rules.allowed_hosts.some((entry) => isName(entry, hostname));
  const addresses =
    literal === 0 ? await resolve(hostname, { organization_id, asks_system }) : [{ address: hostname, family: literal }];
  const refused = addresses.some(
    ({ address }) => !isPublicAddress(address) && !rules.private_addresses_allowed && !isAllowlisted(hostname, address, rules),
  );
  if (refused) throw new GatewayError("Gateway host is not allowed.", { refused_address: true, retryable: false });
  return addresses.map(({ address, family }) => ({ address, family: family === 6 ? 6 : 4 }));
}

/**
 * Whether a gateway with this url may be registered. A name that does not resolve is allowed: the host is only
 * unreachable, and every connection checks the address again.
 */
export async function isAllowedHost(url: string, rules: AddressRules, resolve: ResolveName = resolveName): Promise<boolean> {
  try {
    await resolveHost(toDialUrl(url), rules, resolve);
    return true;
  } catch (error) {
    return !(error instanceof GatewayError && error.failure.refused_address);
  }
}

const isName = (entry: string, hostname: string): boolean => normalizeHost(entry.trim()) === hostname;

function isAllowlisted(hostname: string, address: string, rules: AddressRules): boolean {
  const bare = address.split("%", 1)[0] ?? "";
  return rules.allowed_hosts.some((entry) => {
    if (isName(entry, hostname)) return true;
    const range = new BlockList();
    return addRange(range, normalizeHost(entry.trim())) && range.check(bare, isIP(bare) === 6 ? "ipv6" : "ipv4");
  });
}
