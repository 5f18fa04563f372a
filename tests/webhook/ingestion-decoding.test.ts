import { board_webhook_payloads } from "@board/core/schema/all-tables";
import { eq } from "drizzle-orm";
import { expect, test } from "vitest";
import { createWebhook, postPayload } from "../support/webhook.ts";
import { setupWorld } from "../support/fixtures.ts";

const world = await setupWorld({ environment: { WEBHOOK_RATE_PER_MINUTE: "0" } });
const home = await world.tenant("home");
const webhook = await createWebhook(world, home);

/** Posts a body and returns the payload's exact text in the answer and its stored bytes. */
async function storePayload(body: string | Uint8Array, content_type?: string): Promise<{ shown: string; bytes: Uint8Array }> {
  const id = await postPayload(world, webhook, body, content_type === undefined ? {} : { "content-type": content_type });
  const path = `${webhook.endpoint_path}/payloads/${id}`;
  const text = await (await world.app.request(path, { headers: { authorization: `Bearer ${home.owner.token}` } })).text();
  const shown = text.slice(text.indexOf('"payload":') + '"payload":'.length, text.lastIndexOf(',"headers":'));
  const [row] = await world.db
    .select({ bytes: board_webhook_payloads.body })
    .from(board_webhook_payloads)
    .where(eq(board_webhook_payloads.id, id));
  return { shown, bytes: row!.bytes! };
}

const JSON_TYPES = ["application/json", "application/json; charset=utf-8", "APPLICATION/JSON", "application/cloudevents+json"];
test.each(JSON_TYPES)("a %s body is JSON if it parses and otherwise text", async (type) => {
  for (const body of ['{"a":1}', "[]", '"text"', "true", "1", "-1.5e3", "null", " \n 7 \t"])
    expect((await storePayload(body, type)).shown).toBe(body);
  for (const body of ["{broken", "{'a':1}", "undefined", "NaN", "[1,]", " "])
    expect((await storePayload(body, type)).shown).toBe(JSON.stringify(body));
});

const OTHER_TYPES = [
  undefined,
  "text/plain",
  "application/x-www-form-urlencoded",
  "application/octet-stream",
  "text/json",
  "application/jsonp",
];
test.each(OTHER_TYPES)("a %s body is JSON only if it looks like JSON and parses", async (type) => {
  for (const body of ['{"a":1}', "[1]", '"text"', "true", "false", ' \r\n{"a":1}\n', " true "])
    expect((await storePayload(body, type)).shown).toBe(body);
  for (const body of ["1", "-1", "1e5", "null", "True", "true false", "{broken", "[1", '"open', "a=1&b=%7B%7D", "{} {}"])
    expect((await storePayload(body, type)).shown).toBe(JSON.stringify(body));
});

test("an empty body is an empty object for every content type", async () => {
  for (const type of [undefined, "application/json", "text/plain"]) expect((await storePayload("", type)).shown).toBe("{}");
});

test("a compressed or binary body is shown as text, and its bytes are stored unchanged", async () => {
  const bytes = Buffer.from([0x1f, 0x8b, 0x08, 0x00, 0xff, 0x7b, 0x7d]);
  const payload = await storePayload(bytes, "application/gzip");
  expect(payload.shown).toBe(JSON.stringify("\u001f\ufffd\b\0\ufffd{}"));
  expect(Buffer.from(payload.bytes)).toEqual(bytes);
});

test.each([
  ["form data", "name=Ada+Lovelace&tags=%5B1%5D", "application/x-www-form-urlencoded"],
  [
    "multipart form data",
    '--b\r\nContent-Disposition: form-data; name="f"\r\n\r\n{}\r\n--b--\r\n',
    "multipart/form-data; boundary=b",
  ],
  ["text that looks like Base64", "eyJhIjoxfQ==", "text/plain"],
  ["NUL and control characters", "a\0b\u0001\u001b[31m", "text/plain"],
  ["a byte order mark before JSON", '\ufeff{"a":1}', "application/json"],
  ["every kind of line break", "a\r\nb\rc\nd\u2028e", "text/plain"],
  ["characters outside the basic plane", "😀𝒳", "text/plain"],
])("a text payload is returned as it was posted: %s", async (_what, body, type) => {
  const payload = await storePayload(body, type);
  expect(JSON.parse(payload.shown)).toBe(body);
  expect(Buffer.from(payload.bytes)).toEqual(Buffer.from(body));
});

test("bytes that are not UTF-8 are shown as U+FFFD and stored unchanged", async () => {
  for (const [bytes, shown] of [
    [Buffer.from("caf\xe9", "latin1"), '"caf\ufffd"'],
    [Buffer.from([0xed, 0xa0, 0x80]), '"\ufffd\ufffd\ufffd"'],
    [Buffer.from('{"name":"caf\xe9"}', "latin1"), '{"name":"caf\ufffd"}'],
  ] as const) {
    const payload = await storePayload(bytes);
    expect(payload.shown).toBe(shown);
    expect(Buffer.from(payload.bytes)).toEqual(bytes);
  }
});

test.each([
  ["integers of any size", '{"id":12345678901234567890123,"n":-0,"m":1.0}'],
  ["numbers beyond any float", "[1e400,-1e-400,0.1000000000000000055511151231257827]"],
  ["a NUL escape", String.raw`{"a":"\u0000"}`],
  ["unpaired surrogate escapes", String.raw`["\ud800","\udfff\ud83d"]`],
  ["unnecessary escapes", String.raw`{"\u0061":"\/\u00e9"}`],
  ["duplicate keys, in their order", '{"b":1,"a":2,"b":3}'],
  ["keys that are special in JavaScript", '{"__proto__":{"x":1},"constructor":null,"toString":1}'],
  ["keys that look like numbers", '{"2":0,"1":0}'],
  ["white space inside and around", ' \t{ "a" :\r\n[ 1 ,2 ] }\n'],
  ["replacement patterns", '{"a":"$& $1 $$ $`"}'],
  ["line separators", '{"a":"\u2028\u2029"}'],
])("a JSON payload is returned character for character: %s", async (_what, body) => {
  for (const type of [undefined, "application/json"]) {
    const payload = await storePayload(body, type);
    expect(payload.shown).toBe(body);
    expect(Buffer.from(payload.bytes)).toEqual(Buffer.from(body));
  }
});

test.each([
  ["arrays", "[".repeat(5_000) + "]".repeat(5_000)],
  ["objects", '{"a":'.repeat(5_000) + "1" + "}".repeat(5_000)],
])("JSON of %s nested 5,000 deep is stored and returned", async (_what, body) => {
  expect((await storePayload(body)).shown).toBe(body);
});

test("a body of exactly the maximum size is returned completely", async () => {
  const body = `["${"é".repeat((1_048_576 - 4) / 2)}"]`;
  expect((await storePayload(body)).shown === body).toBe(true);
});

test("a list shows each payload as it was posted, as JSON or as text", async () => {
  const separate = await createWebhook(world, home);
  for (const body of ["1e400", '[1e400,"\\ud800"]', '{"a": 12345678901234567890}', "\0"]) {
    await postPayload(world, separate, body);
    world.elapse(1_000);
  }
  const list = await world.call("GET", `${separate.endpoint_path}/payloads`, { token: home.owner.token });
  const shown = [...list.text.matchAll(/"payload":(.*?),"headers"/g)].map((match) => match[1]);
  expect(shown).toEqual([String.raw`"\u0000"`, '{"a": 12345678901234567890}', '[1e400,"\\ud800"]', '"1e400"']);
});
