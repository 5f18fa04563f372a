import { lookup } from "node:dns/promises";
import { BlockList, isIP } from "node:net";
import { GatewayError } from "./client.ts";
import { dialUrl } from "./handshake.ts";

/** Which addresses may be dialled (GATEWAY_ALLOWED_HOSTS, contract conventions.md §13). Public ones always may. */
export interface AddressRules {
  /** Host names, addresses or CIDR ranges that may be dialled although they are not public. */
  allowed_hosts: readonly string[];
  private_addresses_allowed: boolean;
}

export interface Address {
  address: string;
  family: 4 | 6;
}

/** Name resolution; replaced in tests, where names must lead somewhere unusual. */
export type Resolve = (hostname: string) => Promise<readonly { address: string; family: number }[]>;

const resolveName: Resolve = (hostname) => lookup(hostname, { all: true });

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

const special = new BlockList();
for (const range of [
  "0.0.0.0/8",
  "10.0.0.0/8",
  "100.64.0.0/10",
  "127.0.0.0/8",
  "168.63.129.16/32", // Azure's host services answer here, outside the link-local range other clouds use.
  "169.254.0.0/16",
  "172.16.0.0/12",
  "192.0.0.0/24",
  "192.0.2.0/24",
  "192.88.99.0/24",
  "192.168.0.0/16",
  "198.18.0.0/15",
  "198.51.100.0/24",
  "203.0.113.0/24",
  "224.0.0.0/3",
  "2001::/23", // Teredo carries an IPv4 address inside.
  "2001:db8::/32",
  "2002::/16", // So does 6to4.
  "3fff::/20",
]) {
  addRange(special, range);
}

/** All of IPv6 that is routed publicly; loopback, unique-local, link-local, multicast and translation ranges lie outside. */
const global6 = new BlockList();
addRange(global6, "2000::/3");
const mapped4 = new BlockList();
addRange(mapped4, "::ffff:0:0/96");

function isPublic(address: string): boolean {
  // A BlockList reads IPv4-mapped IPv6 as IPv4, but matches nothing when a zone (`%eth0`) follows.
  const bare = address.split("%", 1)[0] ?? "";
  const family = isIP(bare);
  if (family === 4) return !special.check(bare, "ipv4");
  return family === 6 && (global6.check(bare, "ipv6") || mapped4.check(bare, "ipv6")) && !special.check(bare, "ipv6");
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

/** Adds an address or CIDR range; false when the text is neither. */
function addRange(list: BlockList, text: string): boolean {
  const [network = "", prefix] = text.split("/");
  const family = isIP(network);
  const bits = prefix === undefined ? (family === 6 ? 128 : 32) : /^\d{1,3}$/.test(prefix) ? Number(prefix) : -1;
  if (family === 0 || bits < 0 || bits > (family === 6 ? 128 : 32)) return false;
  list.addSubnet(network, bits, family === 6 ? "ipv6" : "ipv4");
  return true;
}

/** Lower case, without an IPv6 literal's brackets or a name's closing dot. */
function bareHost(text: string): string {
  return text
    .toLowerCase()
    .replace(/^\[(.*)\]$/, "$1")
    .replace(/\.$/, "");
}
