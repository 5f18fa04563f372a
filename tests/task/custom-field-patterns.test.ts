/** What validation patterns can check, and what matching may cost. */
import { beforeEach, expect, test } from "vitest";
import { addField, createField } from "../support/custom-field.ts";
import { setupWorld } from "../support/fixtures.ts";

let board_id: string;
let count = 0;

const world = await setupWorld();
const home = await world.tenant("home");

beforeEach(async () => {
  const body = { name: `Board ${++count}`, description: "A board", gateway_id: home.gateway_id };
  board_id = (await world.call("POST", "/api/v1/boards", { token: home.owner.token, body })).body.id;
});

const define = (body: object) => createField(world, home, { field_key: `key_${++count}`, ...body });
const field = (body: object) => addField(world, home, { field_key: `key_${++count}`, board_ids: [board_id], ...body });
const create = (custom_field_values: object) =>
  world.call("POST", `/api/v1/boards/${board_id}/tasks`, {
    token: home.owner.token,
    body: { title: "Task", custom_field_values },
  });

test("a default value must match its pattern as a whole", async () => {
  const pattern = { validation_regex: "[a-z]+|[a-z]+\\d" };
  expect((await define({ ...pattern, default_value: "abc1" })).status).toBe(200);
  for (const default_value of ["abc12", "1abc", "", "abc\n"]) {
    const answer = await define({ ...pattern, default_value });
    expect([answer.status, answer.body]).toEqual([422, { detail: "default_value does not match validation_regex." }]);
  }
});

test("only text fields can have a pattern", async () => {
  for (const field_type of ["text", "text_long", "date", "date_time", "url"])
    expect((await define({ field_type, validation_regex: ".*" })).status, field_type).toBe(200);
  for (const field_type of ["integer", "decimal", "boolean", "json"]) {
    const answer = await define({ field_type, validation_regex: ".*" });
    expect([answer.status, answer.body], field_type).toEqual([
      422,
      { detail: "validation_regex is only supported for text, text_long, date, date_time, url fields." },
    ]);
  }
  expect((await define({ field_type: "integer", validation_regex: " " })).body.validation_regex).toBe(null);
});

test.each([
  ["(?=a)a"],
  ["(?<!a)b"],
  ["(a)\\1"],
  ["(unclosed"],
  ["[z-a]"],
  ["a{1001}"],
  ["a**"],
  ["((a{1000}){1000}){1000}"],
  ["(?:a{0,1000}){0,1000}"],
])("a pattern that a linear-time engine does not support is refused: %s", async (validation_regex) => {
  const answer = await define({ validation_regex });
  expect([answer.status, answer.body]).toEqual([
    422,
    { detail: expect.stringMatching(/^validation_regex cannot be used: error parsing regexp: ./) },
  ]);
});

test.each([
  ["a long repetition", "(a.*|b.*){1000}"],
  ["consecutive repetitions", "(.*){1000}".repeat(50)],
  ["nested repetitions", `(${"a?".repeat(246)}){1000}`],
])("a pattern that unfolds to too many steps is refused: %s", async (_how, validation_regex) => {
  const answer = await define({ validation_regex });
  expect([answer.status, answer.body]).toEqual([
    422,
    { detail: "validation_regex is too large: its repetition counts expand to too many steps." },
  ]);
});

test("a value must match its pattern as a whole, including dates and URLs", async () => {
  const version = await field({ validation_regex: "\\d+|\\d+\\.\\d+" });
  const day = await field({ field_type: "date", validation_regex: "2026-.*" });
  const page = await field({ field_type: "url", validation_regex: "https://example\\.com/.*" });
  const fitting = { [version.field_key]: "1.2", [day.field_key]: "2026-01-31", [page.field_key]: "https://example.com/a" };
  expect((await create(fitting)).body.custom_field_values).toEqual(fitting);
  for (const [{ field_key }, value] of [
    [version, "1.2.3"],
    [version, "v1"],
    [version, "1\n"],
    [day, "2025-01-31"],
    [page, "https://example.org/"],
  ] as const)
    expect((await create({ [field_key]: value })).body.detail, value).toMatchObject({
      field_key,
      reason: "does not match validation_regex",
    });
  expect((await create({ [day.field_key]: "2026-02-30" })).body.detail.reason).toBe("must be an ISO date");
});

/** Returns pseudo-random letters, which no engine can match with only a few states. */
function noise(length: number): string {
  let state = 1;
  const next = () => (state = (state * 48_271) % 2_147_483_647);
  return Array.from({ length }, () => (next() % 3 === 0 ? "b" : "a")).join("");
}

test.each([
  ["(a+)+$", false],
  ["(a|aa)+$", false],
  ["(.*a){20}", false],
  ["((((a*)*)*)*)*b", false],
  ["(x+x+)+y", false],
  ["(a|b)*a(a|b){20}", false],
  ["(?:(?:a|b)*a(?:a|b){40}c?)*", false],
  ["(\\b|\\B|a|b){20}x", false],
  ["(a|b|ab)*!", true],
])("the service keeps responding while it matches a long text against %s", async (validation_regex, fits) => {
  const { field_key } = await field({ validation_regex });
  const text = `${noise(60_000)}!`;
  const [answer, health] = await Promise.all([create({ [field_key]: text }), world.call("GET", "/health")]);
  expect(health.status).toBe(200);
  expect([answer.status, answer.body.detail?.reason]).toEqual(fits ? [200, undefined] : [422, "does not match validation_regex"]);
});

test("the larger a pattern is, the shorter the texts must be", async () => {
  const { field_key } = await field({ validation_regex: ".{1,1000}" });
  expect((await create({ [field_key]: "a".repeat(1_000) })).status).toBe(200);
  expect((await create({ [field_key]: "a".repeat(1_001) })).body.detail.reason).toBe("does not match validation_regex");
  expect((await create({ [field_key]: "a".repeat(60_000) })).body.detail.reason).toBe("is too long for its validation_regex");
});
