import type { ResolveName } from "@board/core/dns/address";
import { expect, test } from "vitest";
import type { AddressRules } from "../../packages/openclaw/src/wire/address.ts";
import { isAllowedHost, resolveHost } from "../../packages/openclaw/src/wire/address.ts";

const strict: AddressRules = { allowed_hosts: [], private_addresses_allowed: false };
const listing = (...allowed_hosts: string[]): AddressRules => ({ allowed_hosts, private_addresses_allowed: false });
const leadingTo =
  (...addresses: string[]) =>
  async () =>
    addresses.map((address) => ({ address, family: address.includes(":") ? 6 : 4 }));

test.each([
  "ws://127.0.0.1:18789",
  "ws://127.1",
  "ws://2130706433",
  "ws://0x7f.0.0.1",
  "ws://0177.0.0.1",
  "ws://0.0.0.0",
  "wss://10.1.2.3",
  "ws://100.64.0.1",
  "http://169.254.169.254/latest/meta-data",
  "ws://168.63.129.16",
  "ws://172.31.255.255",
  "ws://192.168.0.1",
  "ws://192.0.0.192",
  "ws://198.18.0.1",
  "ws://224.0.0.1",
  "ws://255.255.255.255",
  "ws://[::]",
  "ws://[::1]:18789",
  "ws://[::ffff:127.0.0.1]",
  "ws://[::ffff:a9fe:a9fe]",
  "ws://[::127.0.0.1]",
  "ws://[64:ff9b::7f00:1]",
  "ws://[2002:7f00:1::]",
  "ws://[2001:0:7f00:1::]",
  "ws://[fd00:ec2::254]",
  "ws://[fe80::1]",
  "ws://[fec0::1]",
  "ws://[ff02::1]",
])("%s is not dialled by a service that allows only public addresses", async (url) => {
  expect(await isAllowedHost(url, strict)).toBe(false);
  expect(await isAllowedHost(url, { ...strict, private_addresses_allowed: true })).toBe(true);
});

test.each(["ws://8.8.8.8", "wss://172.32.0.1", "wss://[2606:4700::1111]", "ws://[::ffff:8.8.8.8]"])(
  "%s is public",
  async (url) => {
    expect(await isAllowedHost(url, strict)).toBe(true);
  },
);

test("one private address among the addresses of a name is enough to refuse the name", async () => {
  expect(await isAllowedHost("wss://gateway.example", strict, leadingTo("8.8.8.8", "2606:4700::1111"))).toBe(true);
  expect(await isAllowedHost("wss://gateway.example", strict, leadingTo("8.8.8.8", "10.0.0.1"))).toBe(false);
  expect(await isAllowedHost("wss://gateway.example", strict, leadingTo("fe80::1%eth0"))).toBe(false);
});

test.each([
  ["its name", listing("other.example", " Gateway.Example. ")],
  ["its address", listing("10.0.0.1")],
  ["its network", listing("10.0.0.0/8")],
])("a private host may be dialled when %s is listed", async (_what, rules) => {
  expect(await isAllowedHost("wss://gateway.example", rules, leadingTo("10.0.0.1"))).toBe(true);
});

test("a private address is refused unless an entry of the list matches it", async () => {
  const rules = listing("example", "sub.gateway.example", "10.0.0.2", "11.0.0.0/8", "10.0.0.0/99", "10.0.0.0/", "/0", "*", "");
  expect(await isAllowedHost("wss://gateway.example", rules, leadingTo("10.0.0.1"))).toBe(false);
  expect(await isAllowedHost("ws://10.0.0.1", rules)).toBe(false);
});

test("IPv6 addresses may be listed with or without brackets", async () => {
  for (const entry of ["::1", "[::1]", "::/64"]) expect(await isAllowedHost("ws://[::1]:18789", listing(entry))).toBe(true);
});

test("a name that does not resolve may be registered, but not dialled", async () => {
  const unknown = async () => {
    throw Object.assign(new Error("getaddrinfo ENOTFOUND gateway.example"), { code: "ENOTFOUND" });
  };
  expect(await isAllowedHost("wss://gateway.example", strict, unknown)).toBe(true);
  await expect(resolveHost(new URL("wss://gateway.example"), strict, unknown)).rejects.toThrow("ENOTFOUND");
});

test.each([
  ["a name that a tenant chose", listing("10.0.0.0/8", "other.example"), false],
  ["a name that the operator listed", listing("10.0.0.0/8", "Gateway.Example."), true],
  ["any name on a local server with one shared token", { ...strict, private_addresses_allowed: true }, true],
])(
  "%s is looked up for its organization, and by the operating system only if the operator vouches for it",
  async (_what, rules, asks_system) => {
    const lookups: unknown[] = [];
    const resolve: ResolveName = async (...lookup) => {
      lookups.push(lookup);
      return [{ address: "8.8.8.8", family: 4 }];
    };
    await resolveHost(new URL("wss://gateway.example"), rules, resolve, "organization");
    expect(lookups).toEqual([["gateway.example", { organization_id: "organization", asks_system }]]);
  },
);
