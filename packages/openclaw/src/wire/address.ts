import {
  type Address,
  type AddressRules,
  addressesOf,
  isAllowedPrivately,
  isNamedIn,
  isPublicAddress,
  normalizeHost,
  type ResolveName,
} from "@board/core/dns/address";
import { resolveName } from "@board/core/dns/resolver";
import { GatewayError } from "./gateway-error.ts";
import { toDialUrl } from "./handshake.ts";

export type { AddressRules };

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
  // The operating system looks up only names that the operator has allowed, because each such look-up blocks a thread.
  const asks_system = isNamedIn(hostname, rules);
  const addresses = await addressesOf(hostname, resolve, { organization_id, asks_system });
  const refused = addresses.some(({ address }) => !isPublicAddress(address) && !isAllowedPrivately(hostname, address, rules));
  if (refused) throw new GatewayError("Gateway host is not allowed.", { refused_address: true, retryable: false });
  return addresses;
}

/**
 * Returns whether a gateway with this url may be registered. A name that does not resolve is allowed: the host is only unreachable,
 * and every connection checks the address again.
 */
export async function isAllowedHost(url: string, rules: AddressRules, resolve: ResolveName = resolveName): Promise<boolean> {
  try {
    await resolveHost(toDialUrl(url), rules, resolve);
    return true;
  } catch (error) {
    return !(error instanceof GatewayError && error.failure.refused_address);
  }
}
