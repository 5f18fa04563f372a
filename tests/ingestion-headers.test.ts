import type { Webhook } from "@board/core/webhook/webhook";
import { afterAll, beforeAll, expect, test } from "vitest";
import { createWebhook, deposit, readPayload } from "./support/webhook.ts";
import { createWorld, type Tenant, type World } from "./support/world.ts";

let world: World;
let home: Tenant;
let webhook: Webhook;
let peer = "192.0.2.1";

beforeAll(async () => {
  world = await createWorld({
    environment: { WEBHOOK_RATE_PER_MINUTE: "0", TRUSTED_PROXIES: "10.0.0.0/8, 2001:db8::/32" },
    socketAddress: () => peer,
  });
  home = await world.tenant("home");
  webhook = await createWebhook(world, home);
});
afterAll(() => world.close());

async function kept(headers: Record<string, string>, one = webhook) {
  return readPayload(world, home, one, await deposit(world, one, "{}", headers));
}

test("Content-Type, User-Agent and every X- header are kept, in lower case, and no other", async () => {
  const payload = await kept({
    "Content-Type": "application/json",
    "User-Agent": "Sender/1.0",
    "X-GitHub-Event": "push",
    "X-Empty": "",
    Accept: "*/*",
    Cookie: "session=1",
    "Stripe-Signature": "t=1",
    Authorization: "Bearer outside",
    "X-Agent-Token": "outside",
  });
  expect(payload.headers).toEqual({
    "content-type": "application/json",
    "user-agent": "Sender/1.0",
    "x-github-event": "push",
    "x-empty": "",
  });
  expect(payload.content_type).toBe("application/json");
});

test("a post without Content-Type has none", async () => {
  expect(await kept({})).toMatchObject({ headers: {}, content_type: null });
});

test("repeated headers are joined", async () => {
  const headers = new Headers([
    ["x-tag", "one"],
    ["x-tag", "two, three"],
    ["X-Tag", "four"],
  ]);
  const response = await world.app.request(webhook.endpoint_path, { method: "POST", headers });
  const { payload_id } = (await response.json()) as { payload_id: string };
  expect((await readPayload(world, home, webhook, payload_id)).headers).toEqual({ "x-tag": "one, two, three, four" });
});

test("signature headers are ordinary ones while the webhook has no secret", async () => {
  const headers = { "x-hub-signature-256": "sha256=00", "x-webhook-signature": "00", "x-own": "00" };
  expect((await kept(headers)).headers).toEqual(headers);
  expect((await kept(headers, await createWebhook(world, home, { signature_header: "X-Own" }))).headers).toEqual(headers);
});

test.each([
  ["192.0.2.1", "198.51.100.7", "192.0.2.1"],
  ["10.0.0.1", undefined, "10.0.0.1"],
  ["10.0.0.1", "198.51.100.7", "198.51.100.7"],
  ["10.0.0.1", "6.6.6.6, 198.51.100.7, 10.0.0.2", "198.51.100.7"],
  ["10.0.0.1", "10.0.0.3, 10.0.0.2", "10.0.0.3"],
  ["10.0.0.1", "198.51.100.7:4711", "198.51.100.7"],
  ["2001:db8::1", "[2a00:1450::8]:443", "2a00:1450::8"],
  ["10.0.0.1", "198.51.100.7, unknown, 10.0.0.2", "10.0.0.2"],
  ["10.0.0.1", "'; drop table jobs; --", "10.0.0.1"],
])("the sender behind %s that forwards for %s is %s", async (socket, forwarded, source_ip) => {
  peer = socket;
  const headers: Record<string, string> = forwarded === undefined ? {} : { "x-forwarded-for": forwarded };
  expect((await kept(headers)).source_ip).toBe(source_ip);
});
