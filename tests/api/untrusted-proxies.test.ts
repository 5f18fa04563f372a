import { afterEach, expect, test } from "vitest";
import { createWorld, type World } from "../support/world.ts";

let world: World;
let peer: string;
afterEach(() => world.close());

const open = async (TRUSTED_PROXIES = "") => {
  world = await createWorld({ environment: { TRUSTED_PROXIES }, socketAddress: () => peer });
};
const ask = (from: string, forwarded?: string) => {
  peer = from;
  return world.call("GET", "/healthz", { headers: forwarded === undefined ? {} : { "x-forwarded-for": forwarded } });
};
const warnings = () => world.log.filter(({ event }) => event === "http.untrusted_proxy");

test.each(["", "10.0.0.1"])(
  "a proxy that TRUSTED_PROXIES=%j does not list is logged once, with its address and the setting",
  async (listed) => {
    await open(listed);
    for (const client of ["203.0.113.1", "203.0.113.2", "203.0.113.3, 10.0.0.9"]) await ask("::ffff:10.0.0.7", client);
    expect(warnings()).toEqual([expect.objectContaining({ level: "warn", peer: "10.0.0.7" })]);
    expect(warnings()[0]!.message).toMatch(/10\.0\.0\.7 .*TRUSTED_PROXIES/);
    expect(JSON.stringify(warnings())).not.toContain("203.0.113");
  },
);

test("neither a listed proxy, nor a client, nor the address that API Gateway adds is logged as a proxy", async () => {
  await open("10.0.0.0/8");
  await ask("10.0.0.7", "203.0.113.1");
  await ask("198.51.100.9");
  await ask("198.51.100.9", "198.51.100.9");
  await ask("198.51.100.9", "unknown, _hidden");
  await ask("", "203.0.113.1");
  expect(warnings()).toEqual([]);
});

test("clients that keep forging the header from new addresses do not fill the log", async () => {
  await open();
  for (let number = 1; number <= 100; number++) await ask(`198.51.100.${number}`, "203.0.113.1");
  expect(warnings()).toHaveLength(4);
});
