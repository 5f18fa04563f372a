import { expect, test } from "vitest";
import { setupWorld } from "../support/fixtures.ts";
import { createWorld } from "../support/world.ts";

let socket = "";

const world = await setupWorld({
  environment: { TRUSTED_PROXIES: "10.0.0.0/8, 192.168.1.7, 2001:db8:1::/48, 10.1.1.1/99, not-an-address-s3cret, ::/x" },
  socketAddress: () => socket,
});
const home = await world.tenant("home");
const path = `/api/v1/boards/${home.board_id}/webhooks`;
const { id } = (await world.call("POST", path, { token: home.owner.token, body: { description: "Look at it" } })).body;
/** Returns the client's address as a stored payload shows it. */
const post: (headers: Record<string, string>) => Promise<string> = async (headers) => {
  const { payload_id } = (await world.call("POST", `${path}/${id}`, { headers, raw: "{}" })).body;
  return (await world.call("GET", `${path}/${id}/payloads/${payload_id}`, { token: home.owner.token })).body.source_ip;
};

const from = (address: string, forwarded?: string) => {
  socket = address;
  return post(forwarded === undefined ? {} : { "x-forwarded-for": forwarded });
};

test.each([
  ["198.51.100.9", "198.51.100.9"],
  ["::ffff:198.51.100.9", "198.51.100.9"],
  ["198.51.100.9:443", "198.51.100.9"],
  ["2001:db8:2::1", "2001:db8:2::1"],
  ["[2001:db8:2::1]:443", "2001:db8:2::1"],
  ["fe80::1%eth0", "fe80::1"],
  ["", "unknown"],
  ["/run/socket", "unknown"],
])("without a trusted proxy, the peer %j is recorded as the client %s", async (address, client) => {
  expect(await from(address)).toBe(client);
  expect(await from(address, "203.0.113.1")).toBe(client);
});

test.each([
  ["203.0.113.1", "203.0.113.1"],
  ["203.0.113.66, 203.0.113.1", "203.0.113.1"],
  ["203.0.113.1, 10.9.9.9", "203.0.113.1"],
  ["203.0.113.66, 203.0.113.1, 192.168.1.7 , 10.9.9.9", "203.0.113.1"],
  ["203.0.113.1, ::ffff:10.9.9.9", "203.0.113.1"],
  ["203.0.113.1, 2001:db8:1::5, [2001:db8:1::6]:80", "203.0.113.1"],
  ["203.0.113.1:5678", "203.0.113.1"],
  ["[2001:db8:2::1]:5678", "2001:db8:2::1"],
  ["[2001:db8:2::1]", "2001:db8:2::1"],
  ["2001:DB8:2::1", "2001:DB8:2::1"],
  ["192.168.1.8, 10.9.9.9", "192.168.1.8"],
])(
  "X-Forwarded-For %j from a trusted proxy is read from the right, past trusted hops, so the client is %s",
  async (forwarded, client) => {
    expect(await from("10.0.0.1", forwarded)).toBe(client);
  },
);

test("the leftmost hop is the client when every hop is trusted", async () => {
  expect(await from("10.0.0.1", "10.3.3.3, 10.2.2.2")).toBe("10.3.3.3");
});

test.each([
  ["", "10.0.0.1"],
  ["unknown", "10.0.0.1"],
  ["203.0.113.1, garbage", "10.0.0.1"],
  ["203.0.113.1, garbage, 10.2.2.2", "10.2.2.2"],
  ["203.0.113.1,, 10.2.2.2", "10.2.2.2"],
  ["203.0.113.999", "10.0.0.1"],
  ["203.0.113.1, 203.0.113", "10.0.0.1"],
  ["<script>", "10.0.0.1"],
])("X-Forwarded-For %j is read only up to the first unusable entry, so the client is %s", async (forwarded, client) => {
  expect(await from("10.0.0.1", forwarded)).toBe(client);
});

test("bad entries of TRUSTED_PROXIES are skipped with a warning that does not show them", async () => {
  const [warning, ...more] = world.log.filter((line) => line.event === "settings.invalid_trusted_proxies");
  expect([warning?.level, more]).toEqual(["warn", []]);
  expect(warning?.message).toContain("3");
  expect(JSON.stringify(world.log)).not.toContain("s3cret");
});

test("without TRUSTED_PROXIES, X-Forwarded-For is ignored", async () => {
  const plain = await createWorld({ environment: { AUTH_FAILURES_PER_MINUTE: "1" }, socketAddress: () => "10.0.0.1" });
  plain.elapse(60_000 - (plain.now().getTime() % 60_000));
  const attempt = (forwarded: string) =>
    plain.call("GET", "/api/v1/agent/healthz", {
      agent: "wrong",
      headers: { "x-forwarded-for": forwarded, forwarded: `for=${forwarded}` },
    });
  expect([(await attempt("203.0.113.1")).status, (await attempt("203.0.113.2")).status]).toEqual([401, 429]);
  expect(plain.log.find((line) => line.event === "http.request")?.["client_ip"]).toBe("10.0.0.1");
  await plain.close();
});
