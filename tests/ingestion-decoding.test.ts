import { board_webhook_payloads } from "@board/core/db/schema";
import type { Webhook } from "@board/core/webhook/webhook";
import { eq } from "drizzle-orm";
import { afterAll, beforeAll, expect, test } from "vitest";
import { createWebhook, deposit } from "./support/webhook.ts";
import { createWorld, type Tenant, type World } from "./support/world.ts";

let world: World;
let home: Tenant;
let webhook: Webhook;

beforeAll(async () => {
  world = await createWorld({ environment: { WEBHOOK_RATE_PER_MINUTE: "0" } });
  home = await world.tenant("home");
  webhook = await createWebhook(world, home);
});
afterAll(() => world.close());

/** The payload as it stands in the answer, letter by letter, and the bytes behind it. */
async function keep(body: string | Uint8Array, content_type?: string): Promise<{ shown: string; bytes: Uint8Array }> {
  const id = await deposit(world, webhook, body, content_type === undefined ? {} : { "content-type": content_type });
  const path = `${webhook.endpoint_path}/payloads/${id}`;
  const text = await (await world.app.request(path, { headers: { authorization: `Bearer ${home.owner.token}` } })).text();
  const shown = text.slice(text.indexOf('"payload":') + '"payload":'.length, text.lastIndexOf(',"headers":'));
  const [row] = await world.db
    .select({ bytes: board_webhook_payloads.body })
    .from(board_webhook_payloads)
    .where(eq(board_webhook_payloads.id, id));
  return { shown, bytes: row!.bytes };
}

const JSON_TYPES = ["application/json", "application/json; charset=utf-8", "APPLICATION/JSON", "application/cloudevents+json"];
test.each(JSON_TYPES)("as %s whatever parses is JSON, and what does not is text", async (type) => {
  for (const body of ['{"a":1}', "[]", '"text"', "true", "1", "-1.5e3", "null", " \n 7 \t"])
    expect((await keep(body, type)).shown).toBe(body);
  for (const body of ["{broken", "{'a':1}", "undefined", "NaN", "[1,]", " "])
    expect((await keep(body, type)).shown).toBe(JSON.stringify(body));
});

const OTHER_TYPES = [
  undefined,
  "text/plain",
  "application/x-www-form-urlencoded",
  "application/octet-stream",
  "text/json",
  "application/jsonp",
];
test.each(OTHER_TYPES)("as %s only what looks like JSON and parses is JSON", async (type) => {
  for (const body of ['{"a":1}', "[1]", '"text"', "true", "false", ' \r\n{"a":1}\n', " true "])
    expect((await keep(body, type)).shown).toBe(body);
  for (const body of ["1", "-1", "1e5", "null", "True", "true false", "{broken", "[1", '"open', "a=1&b=%7B%7D", "{} {}"])
    expect((await keep(body, type)).shown).toBe(JSON.stringify(body));
});

test("an empty body is an empty object, of whatever type", async () => {
  for (const type of [undefined, "application/json", "text/plain"]) expect((await keep("", type)).shown).toBe("{}");
});

test("a body in a compressed or binary form is text, its bytes kept", async () => {
  const bytes = Buffer.from([0x1f, 0x8b, 0x08, 0x00, 0xff, 0x7b, 0x7d]);
  const kept = await keep(bytes, "application/gzip");
  expect(kept.shown).toBe(JSON.stringify("\u001f\ufffd\b\0\ufffd{}"));
  expect(Buffer.from(kept.bytes)).toEqual(bytes);
});

test.each([
  ["form data", "name=Ada+Lovelace&tags=%5B1%5D", "application/x-www-form-urlencoded"],
  [
    "multipart form data",
    '--b\r\nContent-Disposition: form-data; name="f"\r\n\r\n{}\r\n--b--\r\n',
    "multipart/form-data; boundary=b",
  ],
  ["what looks like base64", "eyJhIjoxfQ==", "text/plain"],
  ["NUL and control characters", "a\0b\u0001\u001b[31m", "text/plain"],
  ["a byte order mark before JSON", '\ufeff{"a":1}', "application/json"],
  ["line ends of all kinds", "a\r\nb\rc\nd\u2028e", "text/plain"],
  ["characters beyond the first plane", "😀𝒳", "text/plain"],
])("text is given back as it came: %s", async (_what, body, type) => {
  const kept = await keep(body, type);
  expect(JSON.parse(kept.shown)).toBe(body);
  expect(Buffer.from(kept.bytes)).toEqual(Buffer.from(body));
});

test("bytes that are no UTF-8 show as U+FFFD and stay as they came", async () => {
  for (const [bytes, shown] of [
    [Buffer.from("caf\xe9", "latin1"), '"caf\ufffd"'],
    [Buffer.from([0xed, 0xa0, 0x80]), '"\ufffd\ufffd\ufffd"'],
    [Buffer.from('{"name":"caf\xe9"}', "latin1"), '{"name":"caf\ufffd"}'],
  ] as const) {
    const kept = await keep(bytes);
    expect(kept.shown).toBe(shown);
    expect(Buffer.from(kept.bytes)).toEqual(bytes);
  }
});

test.each([
  ["integers of any size", '{"id":12345678901234567890123,"n":-0,"m":1.0}'],
  ["numbers beyond any float", "[1e400,-1e-400,0.1000000000000000055511151231257827]"],
  ["a NUL escape", String.raw`{"a":"\u0000"}`],
  ["unpaired surrogate escapes", String.raw`["\ud800","\udfff\ud83d"]`],
  ["escapes that need not be", String.raw`{"\u0061":"\/\u00e9"}`],
  ["duplicate keys, in their order", '{"b":1,"a":2,"b":3}'],
  ["keys that mean something to JavaScript", '{"__proto__":{"x":1},"constructor":null,"toString":1}'],
  ["keys that look like numbers", '{"2":0,"1":0}'],
  ["white space inside and around", ' \t{ "a" :\r\n[ 1 ,2 ] }\n'],
  ["replacement patterns", '{"a":"$& $1 $$ $`"}'],
  ["line separators", '{"a":"\u2028\u2029"}'],
])("JSON is given back letter by letter: %s", async (_what, body) => {
  for (const type of [undefined, "application/json"]) {
    const kept = await keep(body, type);
    expect(kept.shown).toBe(body);
    expect(Buffer.from(kept.bytes)).toEqual(Buffer.from(body));
  }
});

test.each([
  ["arrays", "[".repeat(5_000) + "]".repeat(5_000)],
  ["objects", '{"a":'.repeat(5_000) + "1" + "}".repeat(5_000)],
])("JSON of %s 5,000 deep is kept and given back", async (_what, body) => {
  expect((await keep(body)).shown).toBe(body);
});

test("a body as large as the limit comes back whole", async () => {
  const body = `["${"é".repeat((1_048_576 - 4) / 2)}"]`;
  expect((await keep(body)).shown === body).toBe(true);
});

test("in a list each payload keeps its own form", async () => {
  const own = await createWebhook(world, home);
  for (const body of ["1e400", '[1e400,"\\ud800"]', '{"a": 12345678901234567890}', "\0"]) {
    await deposit(world, own, body);
    world.elapse(1_000);
  }
  const list = await world.call("GET", `${own.endpoint_path}/payloads`, { token: home.owner.token });
  const shown = [...list.text.matchAll(/"payload":(.*?),"headers"/g)].map((match) => match[1]);
  expect(shown).toEqual([String.raw`"\u0000"`, '{"a": 12345678901234567890}', '[1e400,"\\ud800"]', '"1e400"']);
});
