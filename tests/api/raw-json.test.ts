import { RawJson, toJson } from "@board/core/values/json";
import { expect, test } from "vitest";

test.each([
  ["a raw value", new RawJson("12345678901234567890"), "12345678901234567890"],
  [
    "a nested raw value",
    { items: [{ payload: new RawJson('{"b":1, "a":"\\u0000"}') }] },
    '{"items":[{"payload":{"b":1, "a":"\\u0000"}}]}',
  ],
  ["several raw values", [new RawJson("1.0"), "text", new RawJson("2e3")], '[1.0,"text",2e3]'],
  [
    "a raw value with the patterns of replace",
    { payload: new RawJson('"$& $1"'), next: "$&" },
    '{"payload":"$& $1","next":"$&"}',
  ],
  ["undefined members next to a raw value", { gone: undefined, payload: new RawJson("null") }, '{"payload":null}'],
  ["a value without raw values", { at: new Date(0), list: [undefined] }, '{"at":"1970-01-01T00:00:00.000Z","list":[null]}'],
])("toJson serializes %s", (_what, value, text) => {
  expect(toJson(value)).toBe(text);
});

test("JSON.stringify throws an error at a raw value instead of quoting it", () => {
  expect(() => JSON.stringify({ payload: new RawJson("1") })).toThrow("RawJson must be serialized with toJson");
});

test("an error that toJson meets in another value is thrown unchanged", () => {
  expect(() => toJson({ payload: new RawJson("1"), count: 1n })).toThrow(TypeError);
});
