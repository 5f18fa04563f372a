import { createHmac } from "node:crypto";
import { board_webhook_payloads } from "@board/core/schema/all-tables";
import type { Signature } from "@board/core/webhook/source/signature";
import { SOURCES } from "@board/core/webhook/source/sources";
import { expect, test } from "vitest";
import { createWebhook, post, postPayload, readPayload } from "../support/webhook.ts";
import { setupWorld } from "../support/fixtures.ts";
import { deliveryOf, SENDER_NAMES, SENDERS } from "./senders.ts";

const MINUTE = 60_000;
const INVALID = { detail: "Invalid webhook signature." };
const MISSING = { detail: "Missing webhook signature header." };
const NOT_RECENT = {
  detail: "The webhook signature is not from the last 5 minutes. Check the clock of the sender and send the request again.",
};

const world = await setupWorld({ environment: { WEBHOOK_RATE_PER_MINUTE: "0" }, limits: { webhook_refusals_per_minute: 0 } });
const home = await world.tenant("home");

const webhookFor = (source: (typeof SENDER_NAMES)[number], secret = SENDERS[source].secret) =>
  createWebhook(world, home, { source, secret });
const countStored = () => world.db.$count(board_webhook_payloads);

test.each(SENDER_NAMES)("a delivery that %s signed is accepted, and its signature is not stored", async (source) => {
  const webhook = await webhookFor(source);
  const { body, headers } = await deliveryOf(source, world.now());
  const stored = await readPayload(world, home, webhook, await postPayload(world, webhook, body, headers));
  const { event_type, delivery_id } = SENDERS[source];
  expect(stored.answer.body).toMatchObject({ payload: JSON.parse(body), event_type, delivery_id });
  expect(stored.headers).not.toHaveProperty(SENDERS[source].signature_header);
  expect(stored.answer.text).not.toContain(SENDERS[source].secret);
});

test.each(SENDER_NAMES)("a delivery of %s with a wrong secret or no signature is refused", async (source) => {
  const webhook = await webhookFor(source);
  const before = await countStored();
  const forged = await deliveryOf(source, world.now(), "whsec_dGhlIHNlY3JldCBvZiBhbiBhdHRhY2tlcg==");
  expect((await post(world, webhook, forged.body, forged.headers)).body).toEqual(INVALID);
  const good = await deliveryOf(source, world.now());
  const { [SENDERS[source].signature_header]: _, ...unsigned } = good.headers;
  expect((await post(world, webhook, good.body, unsigned)).body).toEqual(MISSING);
  const generic = { "x-webhook-signature": createHmac("sha256", SENDERS[source].secret).update(good.body).digest("hex") };
  expect((await post(world, webhook, good.body, { ...unsigned, ...generic })).body).toEqual(MISSING);
  expect(await countStored()).toBe(before);
});

// GitLab's token does not depend on the body.
test.each(SENDER_NAMES.filter((source) => source !== "gitlab"))(
  "a signature of %s for another body is refused",
  async (source) => {
    const { body, headers } = await deliveryOf(source, world.now());
    expect((await post(world, await webhookFor(source), `${body} `, headers)).body).toEqual(INVALID);
  },
);

test.each(SENDER_NAMES.filter((source) => SENDERS[source].is_timed))(
  "a signature of %s is accepted for 5 minutes before and after its time, and not longer",
  async (source) => {
    const webhook = await webhookFor(source);
    const before = await countStored();
    for (const minutes of [-5.1, 5.1, 60 * 24]) {
      const { body, headers } = await deliveryOf(source, new Date(world.now().getTime() + minutes * MINUTE));
      const refused = await post(world, webhook, body, headers);
      expect([refused.status, refused.body], `${minutes}`).toEqual([403, NOT_RECENT]);
    }
    expect(await countStored()).toBe(before);
    for (const minutes of [-4.9, 4.9]) {
      const { body, headers } = await deliveryOf(source, new Date(world.now().getTime() + minutes * MINUTE));
      expect((await post(world, webhook, body, headers)).status, `${minutes}`).toBe(202);
    }
  },
);

test.each(SENDER_NAMES)("a webhook for %s without a secret takes unsigned posts", async (source) => {
  const webhook = await createWebhook(world, home, { source });
  const { body, headers } = await deliveryOf(source, world.now());
  const { [SENDERS[source].signature_header]: _, ...unsigned } = headers;
  expect((await post(world, webhook, body, unsigned)).status).toBe(202);
});

test("deliveries of Sentry and Linear without a time are refused", async () => {
  const sentry = await deliveryOf("sentry", world.now());
  delete sentry.headers["sentry-hook-timestamp"];
  expect((await post(world, await webhookFor("sentry"), sentry.body, sentry.headers)).body).toEqual(NOT_RECENT);
  for (const body of ['{"type":"Issue"}', '{"webhookTimestamp":"now"}', "no JSON"]) {
    const headers = { "linear-signature": createHmac("sha256", SENDERS.linear.secret).update(body).digest("hex") };
    expect((await post(world, await webhookFor("linear"), body, headers)).body).toEqual(NOT_RECENT);
  }
});

test("a GitLab webhook with a signing token accepts posts by their signature, and not by the token in a header", async () => {
  const secret = SENDERS.standard_webhooks.secret;
  const webhook = await webhookFor("gitlab", secret);
  const { body, headers } = await deliveryOf("standard_webhooks", world.now());
  expect((await post(world, webhook, body, { ...headers, "x-gitlab-token": "another" })).status).toBe(202);
  expect((await post(world, webhook, body, { "x-gitlab-token": secret })).body).toEqual(INVALID);
  expect((await post(world, webhook, `${body} `, { ...headers, "x-gitlab-token": secret })).body).toEqual(INVALID);
});

test("a Stripe delivery that is signed with both secrets of a rotation at Stripe is accepted", async () => {
  const webhook = await webhookFor("stripe");
  const sent_at = world.now();
  const { body, headers } = await deliveryOf("stripe", sent_at);
  const other = (await deliveryOf("stripe", sent_at, "whsec_other")).headers["stripe-signature"]!;
  const [, signature = ""] = headers["stripe-signature"]!.split(",");
  expect((await post(world, webhook, body, { "stripe-signature": `${other},${signature},v0=abc` })).status).toBe(202);
});

test("with a secret that is not a Base64 key of Standard Webhooks, every post is refused", async () => {
  for (const secret of ["whsec_", "whsec_!!!"]) {
    const webhook = await webhookFor("standard_webhooks", secret);
    const id = "msg_1";
    const time = String(Math.floor(world.now().getTime() / 1_000));
    const signature = createHmac("sha256", "").update(`${id}.${time}.{}`).digest("base64");
    const headers = { "webhook-id": id, "webhook-timestamp": time, "webhook-signature": `v1,${signature}` };
    expect((await post(world, webhook, "{}", headers)).body, secret).toEqual(INVALID);
  }
});

test.each([
  ["github", { "x-hub-signature-256": `sha1=${"0".repeat(40)}` }],
  ["github", { "x-hub-signature-256": "0".repeat(64) }],
  ["stripe", { "stripe-signature": "t=now,v1=abc" }],
  ["stripe", { "stripe-signature": `t=${"1".repeat(400)},v1=${"0".repeat(64)}` }],
  ["stripe", { "stripe-signature": ",=,".repeat(2_000) }],
  ["slack", { "x-slack-signature": `v1=${"0".repeat(64)}`, "x-slack-request-timestamp": "1" }],
  ["slack", { "x-slack-signature": `v0=${"0".repeat(64)}`, "x-slack-request-timestamp": "1e3" }],
  ["linear", { "linear-signature": "é".repeat(64) }],
  ["standard_webhooks", { "webhook-id": "a", "webhook-timestamp": "1", "webhook-signature": "v1a,AAAA v2,BBBB" }],
  ["standard_webhooks", { "webhook-id": "a", "webhook-timestamp": "-1", "webhook-signature": `v1,${"A".repeat(43)}=` }],
] as const)("a malformed signature of %s is refused: %.60j", async (source, headers) => {
  const bytes = Object.fromEntries(Object.entries(headers).map(([name, value]) => [name, Buffer.from(value).toString("latin1")]));
  expect((await post(world, await webhookFor(source), "{}", bytes)).body).toEqual(INVALID);
});

/** The examples that the senders publish with their signatures. */
const PUBLISHED = [
  {
    source: "github",
    secret: "It's a Secret to Everybody",
    body: "Hello, World!",
    headers: { "x-hub-signature-256": "sha256=757107ea0eb2509fc211221cce984b8a37570b6d7586c22c46f4379c8b043e17" },
  },
  {
    source: "slack",
    secret: "8f742231b10e8888abcd99yyyzzz85a5",
    body: "token=xyzz0WbapA4vBCDEFasx0q6G&team_id=T1DC2JH3J&team_domain=testteamnow&channel_id=G8PSS9T3V&channel_name=foobar&user_id=U2CERLKJA&user_name=roadrunner&command=%2Fwebhook-collect&text=&response_url=https%3A%2F%2Fhooks.slack.com%2Fcommands%2FT1DC2JH3J%2F397700885554%2F96rGlfmibIGlgcZRskXaIFfN&trigger_id=398738663015.47445629121.803a0bc887a14d10d2c447fce8b6703c",
    headers: {
      "x-slack-request-timestamp": "1531420618",
      "x-slack-signature": "v0=a2114d57b48eac39b9ad189dd8316235a7b4a8d21a10bd27519666489c69b503",
    },
  },
  {
    source: "standard_webhooks",
    secret: "whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw",
    body: '{"test": 2432232314}',
    headers: {
      "webhook-id": "msg_p5jXN8AQM9LWM0D4loKWxJek",
      "webhook-timestamp": "1614265330",
      "webhook-signature": "v1,g0hM9SsE+OTPJTGt/tmIKtSyZlE3uFJELVlNIOLJ1OE=",
    },
  },
] as const;

test.each(PUBLISHED)(
  "the signature that $source publishes as an example is valid for its own body only",
  ({ source, ...example }) => {
    const signature: Signature = SOURCES[source].readSignature(new Headers(example.headers), null);
    if (typeof signature === "string") throw new Error(`The signature is ${signature}.`);
    expect(signature.matches(example.secret, Buffer.from(example.body))).toBe(true);
    expect(signature.matches(example.secret, Buffer.from(`${example.body}!`))).toBe(false);
    expect(signature.matches(`${example.secret}BBBB`, Buffer.from(example.body))).toBe(false);
  },
);
