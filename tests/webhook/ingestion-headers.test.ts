import { board_webhook_payloads } from "@board/core/schema/all-tables";
import { eq } from "drizzle-orm";
import { expect, test } from "vitest";
import { createWebhook, postPayload, readPayload } from "../support/webhook.ts";
import { setupWorld } from "../support/fixtures.ts";

let peer = "192.0.2.1";

const world = await setupWorld({
  environment: { WEBHOOK_RATE_PER_MINUTE: "0", TRUSTED_PROXIES: "10.0.0.0/8, 2001:db8::/32" },
  socketAddress: () => peer,
});
const home = await world.tenant("home");
const webhook = await createWebhook(world, home);

async function postAndRead(headers: Record<string, string>, target = webhook) {
  return readPayload(world, home, target, await postPayload(world, target, "{}", headers));
}

test("only Content-Type, User-Agent and X- headers are stored, with names in lower case", async () => {
  const payload = await postAndRead({
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

test("a payload posted without Content-Type has no content type", async () => {
  const { headers, content_type } = await postAndRead({});
  expect({ headers, content_type }).toEqual({ headers: {}, content_type: null });
});

test("repeated headers of a post are joined", async () => {
  const headers = new Headers([
    ["x-tag", "target"],
    ["x-tag", "two, three"],
    ["X-Tag", "four"],
  ]);
  const response = await world.app.request(webhook.endpoint_path, { method: "POST", headers });
  const { payload_id } = (await response.json()) as { payload_id: string };
  expect((await readPayload(world, home, webhook, payload_id)).headers).toEqual({ "x-tag": "target, two, three, four" });
});

test("signature headers are stored like others while the webhook has no secret", async () => {
  const headers = { "x-hub-signature-256": "sha256=00", "x-webhook-signature": "00", "x-own": "00" };
  expect((await postAndRead(headers)).headers).toEqual(headers);
  expect((await postAndRead(headers, await createWebhook(world, home, { signature_header: "X-Own" }))).headers).toEqual(headers);
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
])("a post from %s with X-Forwarded-For %s has the source address %s", async (socket, forwarded, source_ip) => {
  peer = socket;
  const headers: Record<string, string> = forwarded === undefined ? {} : { "x-forwarded-for": forwarded };
  expect((await postAndRead(headers)).source_ip).toBe(source_ip);
});

test("headers whose names mark a credential are not stored, and other headers are", async () => {
  const credentials = {
    "X-Api-Key": "1",
    "X-APIKEY": "1",
    "X-Auth": "1",
    "X-Authorization": "1",
    "X-Shop-Token": "1",
    "X-Client-Secret": "1",
    "X-Session-Cookie": "1",
    "X-Amz-Security-Token": "1",
    "X-Forwarded-Password": "1",
  };
  const kept = { "x-github-event": "push", "x-shopify-topic": "orders/paid", "x-request-id": "7" };
  expect((await postAndRead({ ...credentials, ...kept })).headers).toEqual(kept);
});

test("credentials in headers that an earlier version stored are not shown", async () => {
  const id = await postPayload(world, webhook);
  const stored = { "x-api-key": "1", "x-event": "paid" };
  await world.db.update(board_webhook_payloads).set({ headers: stored }).where(eq(board_webhook_payloads.id, id));
  expect((await readPayload(world, home, webhook, id)).headers).toEqual({ "x-event": "paid" });
  const list = await world.call("GET", `${webhook.endpoint_path}/payloads`, { token: home.owner.token });
  expect(list.body.items[0].headers).toEqual({ "x-event": "paid" });
});
