import { lookup } from "node:dns/promises";
import { BlockList, isIP } from "node:net";

export interface Address {
  address: string;
  family: 4 | 6;
}

/** Name resolution; replaced in tests, where names must lead somewhere unusual. */
export type Resolve = (hostname: string) => Promise<readonly { address: string; family: number }[]>;

export const resolveName: Resolve = (hostname) => lookup(hostname, { all: true });

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

/** Whether an address is one of the public internet, however it is written. */
export function isPublic(address: string): boolean {
  // A BlockList reads IPv4-mapped IPv6 as IPv4, but matches nothing when a zone (`%eth0`) follows.
  const bare = address.split("%", 1)[0] ?? "";
  const family = isIP(bare);
  if (family === 4) return !special.check(bare, "ipv4");
  return family === 6 && (global6.check(bare, "ipv6") || mapped4.check(bare, "ipv6")) && !special.check(bare, "ipv6");
}

/** Adds an address or CIDR range; false when the text is neither. */
export function addRange(list: BlockList, text: string): boolean {
  const [network = "", prefix] = text.split("/");
  const family = isIP(network);
  const bits = prefix === undefined ? (family === 6 ? 128 : 32) : /^\d{1,3}$/.test(prefix) ? Number(prefix) : -1;
  if (family === 0 || bits < 0 || bits > (family === 6 ? 128 : 32)) return false;
  list.addSubnet(network, bits, family === 6 ? "ipv6" : "ipv4");
  return true;
}

/** Lower case, without an IPv6 literal's brackets or a name's closing dot. */
export function bareHost(text: string): string {
  return text
    .toLowerCase()
    .replace(/^\[(.*)\]$/, "$1")
    .replace(/\.$/, "");
}
