import { createHmac } from "node:crypto";
import { board_webhook_payloads } from "@board/core/schema/all-tables";
import type { Webhook } from "@board/core/webhook/webhook";
import { beforeEach, expect, test } from "vitest";
import { setupWorld } from "../support/fixtures.ts";
import { createWebhook } from "../support/webhook.ts";
import { createWorld } from "../support/world.ts";

const SECRET = "a webhook secret";
const BODY = '{"paid":true}';
const RATE = 5;
const REFUSALS = 3;
const TOTAL = 12;
const MAX_BYTES = 1_000;
const MINUTE_MS = 60_000;

/** A webhook with a secret, new for each test. */
let webhook: Webhook;

const environment = {
  WEBHOOK_RATE_PER_MINUTE: `${RATE}`,
  WEBHOOK_MAX_PAYLOAD_BYTES: `${MAX_BYTES}`,
  TRUSTED_PROXIES: "10.0.0.0/8",
};
const limits = { webhook_refusals_per_minute: REFUSALS, webhook_total_refusals_per_minute: TOTAL };
const world = await setupWorld({ environment, limits, socketAddress: () => "10.0.0.1" });
const home = await world.tenant("home");

beforeEach(async () => {
  webhook = await createWebhook(world, home, { secret: SECRET });
  // Each test starts at a full minute, so that no test spans two of them.
  world.elapse(MINUTE_MS - (world.now().getTime() % MINUTE_MS));
});

let addresses = 0;
const newAddress = () => `203.0.113.${++addresses}`;
const GOOD = { "x-hub-signature-256": createHmac("sha256", SECRET).update(BODY).digest("hex") };
const FORGED = { "x-hub-signature-256": "0".repeat(64) };
const UNSIGNED = {};
const MALFORMED = { "x-hub-signature-256": "sha256=none" };

const postFrom = (address: string, signature: Record<string, string>, raw = BODY, target = webhook) =>
  world.call("POST", target.endpoint_path, { raw, headers: { ...signature, "x-forwarded-for": address } });
async function statusesFrom(address: string, signature: Record<string, string>, count: number, raw = BODY) {
  const statuses: number[] = [];
  for (let n = 0; n < count; n++) statuses.push((await postFrom(address, signature, raw)).status);
  return statuses;
}
const times = (count: number, status: number) => Array.from({ length: count }, () => status);

test.each([
  ["unsigned", UNSIGNED],
  ["forged", FORGED],
  ["malformed", MALFORMED],
])("%s posts do not use up the rate of a signed webhook", async (_what, signature) => {
  const stored = await world.db.$count(board_webhook_payloads);
  expect(await statusesFrom(newAddress(), signature, RATE * 2)).not.toContain(202);
  expect(await world.db.$count(board_webhook_payloads)).toBe(stored);
  expect(await statusesFrom(newAddress(), GOOD, RATE + 1)).toEqual([...times(RATE, 202), 429]);
});

test.each([
  ["unsigned", UNSIGNED],
  ["forged", FORGED],
])("an address whose %s posts are over the limit gets 429 with Retry-After until the minute ends", async (_what, signature) => {
  const address = newAddress();
  expect(await statusesFrom(address, signature, REFUSALS + 2)).toEqual([...times(REFUSALS, 403), 429, 429]);
  const limited = await postFrom(address, signature);
  expect(limited.body).toEqual({ detail: "Too Many Requests" });
  const seconds = Number(limited.headers.get("retry-after"));
  expect(seconds > 0 && seconds <= 60).toBe(true);
  world.elapse(seconds * 1_000);
  expect((await postFrom(address, signature)).status).toBe(403);
});

test("a correctly signed post is accepted even from an address that is over the limit", async () => {
  const address = newAddress();
  await statusesFrom(address, UNSIGNED, REFUSALS + 2);
  await statusesFrom(address, FORGED, REFUSALS);
  expect((await postFrom(address, GOOD)).status).toBe(202);
});

test("refused posts count for their address and webhook only", async () => {
  const address = newAddress();
  const other = await createWebhook(world, home, { secret: SECRET });
  await statusesFrom(address, UNSIGNED, REFUSALS + 1);
  expect((await postFrom(newAddress(), UNSIGNED)).status).toBe(403);
  expect((await postFrom(address, UNSIGNED, BODY, other)).status).toBe(403);
});

test("refused posts from all IPv6 addresses of one /64 network count together", async () => {
  for (let n = 1; n <= REFUSALS; n++) expect((await postFrom(`2001:db8:0:9::${n}`, UNSIGNED)).status).toBe(403);
  expect((await postFrom("2001:db8:0:9:ffff::1", UNSIGNED)).status).toBe(429);
  expect((await postFrom("2001:db8:0:a::1", UNSIGNED)).status).toBe(403);
});

test("posts to a signed webhook that are too large count as refused", async () => {
  const address = newAddress();
  expect(await statusesFrom(address, GOOD, REFUSALS, "x".repeat(MAX_BYTES + 1))).toEqual(times(REFUSALS, 413));
  expect(await statusesFrom(address, UNSIGNED, 1)).toEqual([429]);
});

test("once a webhook has refused its maximum of posts, addresses with a refused post get 429, and others do not", async () => {
  const addressesOfAttack = [newAddress(), newAddress(), newAddress(), newAddress()];
  for (const address of addressesOfAttack) await statusesFrom(address, FORGED, REFUSALS);
  expect((await postFrom(addressesOfAttack[0]!, GOOD)).status).toBe(429);
  expect((await postFrom(newAddress(), FORGED)).status).toBe(403);
  expect((await postFrom(newAddress(), GOOD)).status).toBe(202);
});

test("an unsigned post over the limit is refused without reading its body", async () => {
  const address = newAddress();
  await statusesFrom(address, UNSIGNED, REFUSALS);
  let read = false;
  const body = new ReadableStream<Uint8Array>(
    {
      pull(controller) {
        read = true;
        controller.close();
      },
    },
    { highWaterMark: 0 },
  );
  const init = { method: "POST", body, headers: { "x-forwarded-for": address }, duplex: "half" } as RequestInit;
  const response = await world.app.request(webhook.endpoint_path, init);
  expect([response.status, read]).toEqual([429, false]);
});

test("a webhook without a secret counts every post", async () => {
  webhook = await createWebhook(world, home);
  expect(await statusesFrom(newAddress(), FORGED, RATE + 1)).toEqual([...times(RATE, 202), 429]);
  expect((await postFrom(newAddress(), UNSIGNED)).status).toBe(429);
});

test("webhook_refusals_per_minute=0 switches the limit of refused posts off", async () => {
  const free = await createWorld({ environment: { WEBHOOK_RATE_PER_MINUTE: "2" }, limits: { webhook_refusals_per_minute: 0 } });
  const open = await createWebhook(free, await free.tenant("free"), { secret: SECRET });
  free.statements.length = 0;
  for (let n = 0; n < 20; n++) expect((await free.call("POST", open.endpoint_path, { raw: BODY })).status).toBe(403);
  expect(free.statements.filter((statement) => /insert into "rate_counters"/.test(statement))).toEqual([]);
  expect((await free.call("POST", open.endpoint_path, { raw: BODY, headers: GOOD })).status).toBe(202);
  await free.close();
});
