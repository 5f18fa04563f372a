import { boards, tags } from "@board/core/schema/all-tables";
import { describe, expect, test } from "vitest";
import { setupWorld } from "../support/fixtures.ts";

const world = await setupWorld();
const home = await world.tenant("home");

type Raw = string | Uint8Array | undefined;
const post = (raw: Raw, headers = {}) =>
  world.call("POST", "/api/tags", { token: home.owner.token, headers, ...(raw === undefined ? {} : { raw }) });
const patch = (raw: Raw) =>
  world.call("PATCH", `/api/v1/boards/${home.board_id}`, { token: home.owner.token, ...(raw === undefined ? {} : { raw }) });

describe("a request body", () => {
  const notAnObject = "Input should be a valid dictionary or object to extract fields from";

  test.each(["null", "[]", '["name"]', '"name"', "5", "true"])("a body that is not an object is refused: %s", async (raw) => {
    for (const answer of [await post(raw), await patch(raw)])
      expect(answer.body.detail).toMatchObject([{ type: "model_attributes_type", loc: ["body"], msg: notAnObject }]);
  });

  test.each<[string, string | Uint8Array]>([
    ["truncated JSON", '{"name": "x"'],
    ["two values", "{} {}"],
    ["single quotes", "{'name': 'x'}"],
    ["a comment", '{"name": "x" /* y */}'],
    ["NaN", '{"name": NaN}'],
    ["form data", "name=x"],
    ["bad UTF-8", Uint8Array.from([0x7b, 0x22, 0xff, 0x22, 0x3a, 0x31, 0x7d])],
    ["UTF-16", new Uint8Array(Buffer.from('{"name":"x"}', "utf16le"))],
  ])("a body that is not JSON is refused: %s", async (_what, raw) => {
    const answer = await post(raw);
    const problem = { type: "json_invalid", loc: ["body"], msg: "JSON decode error", input: null };
    expect([answer.status, answer.body]).toEqual([422, { detail: [problem] }]);
  });

  test.each(["application/json", "text/plain", "application/x-www-form-urlencoded", "multipart/form-data", "nonsense", ""])(
    "a body is read as JSON whatever its Content-Type is: %j",
    async (type) => {
      expect((await post(JSON.stringify({ name: `Typed ${type}` }), { "content-type": type })).status).toBe(200);
    },
  );

  test.each([undefined, "", " \n"])("an empty body counts as {}: %j", async (raw) => {
    expect((await patch(raw)).status).toBe(200);
    expect((await post(raw)).body.detail).toMatchObject([{ type: "missing", loc: ["body", "name"] }]);
  });

  test("unknown keys of a body are ignored", async () => {
    const made = await post('{"name": "Known", "id": 5, "task_count": 9, "__proto__": {"slug": "x"}, "constructor": 1}');
    expect([made.status, made.body]).toMatchObject([200, { name: "Known", slug: "known", task_count: 0 }]);
  });
});

describe("text that PostgreSQL cannot store", () => {
  test.each([
    ["NUL in text", '{"name": "a\\u0000b"}', ["name"]],
    ["a lone high surrogate", '{"name": "a\\ud800"}', ["name"]],
    ["a lone low surrogate", '{"name": "\\udc00b"}', ["name"]],
    ["NUL deep in an object", '{"name": "x", "success_metrics": {"a": [1, {"b": "\\u0000"}]}}', ["success_metrics", "a", 1, "b"]],
    ["NUL in a key", '{"name": "x", "success_metrics": {"a\\u0000": 1}}', ["success_metrics"]],
    ["NUL under an unknown key", '{"name": "x", "unknown": "\\u0000"}', ["unknown"]],
    ["NUL in two fields, of which the first is named", '{"name": "\\u0000", "description": "\\u0000"}', ["name"]],
  ])("a body is refused and nothing is stored: %s", async (_what, raw, field) => {
    const before = await world.db.select().from(boards);
    const answer = await patch(raw);
    const msg = "Value error, text must not hold NUL or unpaired surrogates";
    expect([answer.status, answer.body.detail]).toMatchObject([422, [{ type: "value_error", loc: ["body", ...field], msg }]]);
    expect(await world.db.select().from(boards)).toEqual(before);
  });

  test("surrogate pairs and other unusual characters are kept", async () => {
    const name = "\u{1F600} \u202e\ufeff\u0007 e\u0301";
    expect((await post(JSON.stringify({ name }))).body.name).toBe(name);
    expect((await world.db.select().from(tags)).map((tag) => tag.name)).toContain(name);
  });

  test("a body may nest 32 levels deep, counting itself as the first", async () => {
    const nested = (levels: number) => `{"success_metrics": {"a": ${"[".repeat(levels - 2)}${"]".repeat(levels - 2)}}}`;
    expect((await patch(nested(32))).status).toBe(200);
    for (const levels of [33, 5_000, 200_000]) {
      const answer = await patch(nested(levels));
      expect([answer.status, answer.body.detail]).toMatchObject([422, [{ type: "value_error", loc: ["body"] }]]);
    }
  });

  test("a JSON object may take up to 65,536 bytes", async () => {
    const sized = (bytes: number) => ({ é: "x".repeat(bytes - Buffer.byteLength('{"é":""}')) });
    expect((await patch(JSON.stringify({ success_metrics: sized(65_536) }))).status).toBe(200);
    const refused = await patch(JSON.stringify({ success_metrics: sized(65_537) }));
    expect(refused.body.detail).toMatchObject([{ type: "value_error", loc: ["body", "success_metrics"] }]);
    for (const field of ["heartbeat_config", "identity_profile"]) {
      const body = { name: "Sized", board_id: home.board_id, [field]: sized(65_537) };
      const answer = await world.call("POST", "/api/v1/agents", { token: home.owner.token, body });
      expect(answer.body.detail).toMatchObject([{ type: "value_error", loc: ["body", field] }]);
    }
  });
});

describe("a time in a body", () => {
  const patchDate = async (target_date: string) => (await patch(JSON.stringify({ target_date }))).body;

  test.each([
    ["2026-11-20T10:24:09.799Z", "2026-11-20T10:24:09.799Z"],
    ["2026-11-20T10:24:09", "2026-11-20T10:24:09.000Z"],
    ["2026-11-20T10:24", "2026-11-20T10:24:00.000Z"],
    ["2026-11-20", "2026-11-20T00:00:00.000Z"],
    ["2026-11-20T10:24:09+02:00", "2026-11-20T08:24:09.000Z"],
    ["2026-11-20T10:24:09-0530", "2026-11-20T15:54:09.000Z"],
    ["2026-11-20 10:24:09.7999999", "2026-11-20T10:24:09.799Z"],
    ["1900-01-01", "1900-01-01T00:00:00.000Z"],
    ["9999-12-31T23:59:59.999Z", "9999-12-31T23:59:59.999Z"],
    ["2028-02-29", "2028-02-29T00:00:00.000Z"],
  ])("the time %s is returned as %s", async (sent, returned) => {
    expect((await patchDate(sent)).target_date).toBe(returned);
  });

  const malformed = [
    "",
    "now",
    "1795",
    "20.11.2026",
    "2026-11-20T",
    "2026-02-29",
    "2026-13-01",
    "2026-11-20T25:00",
    "2026-11-20T10:24+25:00",
  ];
  const outOfRange = ["1899-12-31", "10000-01-01", "1900-01-01T00:00+01:00", "9999-12-31T23:59:59-01:00"];

  test.each([...malformed, ...outOfRange])("%j is refused as a time", async (sent) => {
    expect((await patchDate(sent)).detail).toMatchObject([
      { type: "datetime_parsing", loc: ["body", "target_date"], input: sent },
    ]);
  });
});
