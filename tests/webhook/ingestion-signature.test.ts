import { createHmac } from "node:crypto";
import { board_webhook_payloads } from "@board/core/schema/all-tables";
import type { Webhook } from "@board/core/webhook/webhook";
import { expect, test } from "vitest";
import { createWebhook, postPayload, post, readPayload } from "../support/webhook.ts";
import { setupWorld } from "../support/fixtures.ts";

const SECRET = "schlüssel 🔑";
const BODY = '{"amount": 12345678901234567890}';

const world = await setupWorld({ environment: { WEBHOOK_RATE_PER_MINUTE: "0" } });
const home = await world.tenant("home");
const signed = await createWebhook(world, home, { secret: ` ${SECRET} ` });
const named = await createWebhook(world, home, { secret: SECRET, signature_header: "Stripe-Signature" });

const sign = (body: string | Uint8Array, secret = SECRET) => createHmac("sha256", secret).update(body).digest("hex");
const good = sign(BODY);
const MISSING = [403, { detail: "Missing webhook signature header." }];
const INVALID = [403, { detail: "Invalid webhook signature." }];

async function answerTo(webhook: Webhook, headers: Record<string, string>, body: string | Uint8Array = BODY) {
  const answer = await post(world, webhook, body, headers);
  return answer.status === 202 ? 202 : [answer.status, answer.body];
}

test.each([
  ["hex in X-Hub-Signature-256", { "X-Hub-Signature-256": good }],
  ["hex in X-Webhook-Signature", { "X-Webhook-Signature": good }],
  ["with sha256=", { "X-Hub-Signature-256": `sha256=${good}` }],
  ["in upper case", { "X-Hub-Signature-256": `SHA256=${good.toUpperCase()}` }],
  ["with white space around", { "X-Hub-Signature-256": ` sha256=${good} ` }],
  ["in X-Webhook-Signature while X-Hub-Signature-256 is blank", { "X-Hub-Signature-256": " ", "X-Webhook-Signature": good }],
] as [string, Record<string, string>][])("a valid signature is accepted: %s", async (_form, headers) => {
  expect(await answerTo(signed, headers)).toBe(202);
});

test.each([
  ["of another body", sign(`${BODY} `)],
  ["with another secret", sign(BODY, "other")],
  ["with the untrimmed secret", sign(BODY, ` ${SECRET} `)],
  ["truncated by a byte", good.slice(0, -2)],
  ["truncated by half a byte", good.slice(0, -1)],
  ["too long", `${good}00`],
  ["in Base64", Buffer.from(good, "hex").toString("base64")],
  ["with another algorithm's name", `sha1=${good}`],
  ["with the prefix twice", `sha256=sha256=${good}`],
  ["only the prefix", "sha256="],
  ["in a list of values", `t=1,v1=${good}`],
  ["with a character that is not hex", `${good.slice(0, -1)}ß`],
])("an invalid signature is refused: %s", async (_form, signature) => {
  const before = await world.db.$count(board_webhook_payloads);
  expect(await answerTo(signed, { "X-Hub-Signature-256": signature })).toEqual(INVALID);
  expect(await world.db.$count(board_webhook_payloads)).toBe(before);
});

test("X-Hub-Signature-256 decides when both signature headers are present", async () => {
  expect(await answerTo(signed, { "X-Hub-Signature-256": sign("other"), "X-Webhook-Signature": good })).toEqual(INVALID);
  expect(await answerTo(signed, { "X-Hub-Signature-256": good, "X-Webhook-Signature": "nonsense" })).toBe(202);
});

test("a post without a signature header is refused with a different reason than a post with an invalid signature", async () => {
  expect(await answerTo(signed, {})).toEqual(MISSING);
  expect(await answerTo(signed, { "X-Hub-Signature-256": "", "Stripe-Signature": good })).toEqual(MISSING);
});

test("a webhook with a signature_header reads the signature from that header only", async () => {
  expect(await answerTo(named, { "stripe-signature": `sha256=${good}` })).toBe(202);
  expect(await answerTo(named, { "X-Hub-Signature-256": good, "X-Webhook-Signature": good })).toEqual(MISSING);
  expect(await answerTo(named, { "Stripe-Signature": "nonsense", "X-Hub-Signature-256": good })).toEqual(INVALID);
});

test.each([
  ["bytes that are not text", Buffer.from([0xff, 0x00, 0xfe])],
  ["white space around JSON", ' {"a" : 1}\r\n'],
  ["a byte order mark", "\ufeff{}"],
  ["an empty body", ""],
] as [string, string | Uint8Array][])("the signature covers the bytes as they were posted: %s", async (_what, body) => {
  expect(await answerTo(signed, { "X-Webhook-Signature": sign(body) }, body)).toBe(202);
});

test("signatures are never stored with a payload", async () => {
  const headers = { "X-Hub-Signature-256": good, "X-Webhook-Signature": good, "X-Own-Signature": good, "X-Event": "paid" };
  const separate = await createWebhook(world, home, { secret: SECRET, signature_header: "X-Own-Signature" });
  expect((await readPayload(world, home, separate, await postPayload(world, separate, BODY, headers))).headers).toEqual({
    "x-event": "paid",
  });
  const { "X-Own-Signature": _, ...usual } = headers;
  expect((await readPayload(world, home, signed, await postPayload(world, signed, BODY, usual))).headers).toEqual({
    "x-event": "paid",
  });
});
