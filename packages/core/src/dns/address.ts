import { BlockList, isIP } from "node:net";

export interface Address {
  address: string;
  family: 4 | 6;
}

interface LookupOptions {
  /** The look-up counts toward the limit of this organization. Undefined if the service itself makes the look-up. */
  organization_id?: string | undefined;
  /** Whether to ask the operating system if the name servers do not know the name. The system look-up blocks a thread. */
  asks_system?: boolean;
}

/** Resolves a host name (`dns/resolver.ts`). Tests replace it to choose the addresses. */
export type ResolveName = (hostname: string, options?: LookupOptions) => Promise<readonly { address: string; family: number }[]>;

/** Resolves a host name. An address leads to itself. */
export async function addressesOf(hostname: string, resolve: ResolveName, options: LookupOptions): Promise<Address[]> {
  const literal = isIP(hostname);
  const found = literal === 0 ? await resolve(hostname, options) : [{ address: hostname, family: literal }];
  return found.map(({ address, family }): Address => ({ address, family: family === 6 ? 6 : 4 }));
}

/** The look-up could not start in time, because the organization has too many look-ups in progress. */
export class LookupLimitError extends Error {
  readonly code = "EAI_AGAIN";
  constructor() {
    super("Too many host names of this organization are being looked up. Try again later.");
  }
}

const NON_PUBLIC_RANGES = [
  "0.0.0.0/8",
  "10.0.0.0/8",
  "100.64.0.0/10",
  "127.0.0.0/8",
  "168.63.129.16/32", // Azure's metadata service, outside the link-local range that other clouds use.
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
  "2001::/23", // Teredo embeds an IPv4 address.
  "2001:db8::/32",
  "2002::/16", // 6to4 embeds an IPv4 address.
  "3fff::/20",
];
/** Publicly routed IPv6. It excludes loopback, unique-local, link-local, multicast and translation addresses. */
const PUBLIC_IPV6_RANGE = "2000::/3";
const IPV4_MAPPED_RANGE = "::ffff:0:0/96";

const toBlockList = (ranges: readonly string[]): BlockList => {
  const list = new BlockList();
  for (const range of ranges) addRange(list, range);
  return list;
};
const createRanges = () => ({
  nonPublic: toBlockList(NON_PUBLIC_RANGES),
  publicIpv6: toBlockList([PUBLIC_IPV6_RANGE]),
  ipv4Mapped: toBlockList([IPV4_MAPPED_RANGE]),
});
let ranges: ReturnType<typeof createRanges> | undefined;

/** Checks whether an IP address, in any notation, is publicly routed. */
export function isPublicAddress(address: string): boolean {
  // A BlockList treats IPv4-mapped IPv6 addresses as IPv4. However, it never matches an address with a zone (`%eth0`).
  const withoutZone = address.split("%", 1)[0] ?? "";
  const family = isIP(withoutZone);
  // The ranges are created at first use, because Node needs 3 ms for the first IPv6 address and few functions connect to one.
  const { nonPublic, publicIpv6, ipv4Mapped } = (ranges ??= createRanges());
  if (family === 4) return !nonPublic.check(withoutZone, "ipv4");
  return (
    family === 6 &&
    (publicIpv6.check(withoutZone, "ipv6") || ipv4Mapped.check(withoutZone, "ipv6")) &&
    !nonPublic.check(withoutZone, "ipv6")
  );
}

/** Adds an address or CIDR range to a list. Returns false if the text is neither. */
function addRange(list: BlockList, text: string): boolean {
  const [network = "", prefix] = text.split("/");
  const family = isIP(network);
  const bits = prefix === undefined ? (family === 6 ? 128 : 32) : /^\d{1,3}$/.test(prefix) ? Number(prefix) : -1;
  if (family === 0 || bits < 0 || bits > (family === 6 ? 128 : 32)) return false;
  list.addSubnet(network, bits, family === 6 ? "ipv6" : "ipv4");
  return true;
}

/** Converts a host to lower case and removes the brackets of an IPv6 literal and the trailing dot of a name. */
export function normalizeHost(text: string): string {
  return text
    .toLowerCase()
    .replace(/^\[(.*)\]$/, "$1")
    .replace(/\.$/, "");
}

/**
 * Which addresses the service may connect to (docs/reference/conventions.md#gateway-addresses). Public ones are always allowed.
 */
export interface AddressRules {
  /** Host names, addresses or CIDR ranges that are allowed although they are not public. */
  allowed_hosts: readonly string[];
  private_addresses_allowed: boolean;
}

const isName = (entry: string, hostname: string): boolean => normalizeHost(entry.trim()) === hostname;

/** Checks whether the operator allows this host name. */
export const isNamedIn = (hostname: string, rules: AddressRules): boolean =>
  rules.private_addresses_allowed || rules.allowed_hosts.some((entry) => isName(entry, hostname));

/** Checks whether the service may connect to this address of a host even if the address is not public. */
export function isAllowedPrivately(hostname: string, address: string, rules: AddressRules): boolean {
  if (isNamedIn(hostname, rules)) return true;
  const bare = address.split("%", 1)[0] ?? "";
  return rules.allowed_hosts.some((entry) => {
    const range = new BlockList();
    return addRange(range, normalizeHost(entry.trim())) && range.check(bare, isIP(bare) === 6 ? "ipv6" : "ipv4");
  });
}
