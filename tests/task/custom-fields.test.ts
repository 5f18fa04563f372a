import { randomUUID } from "node:crypto";
import { boards } from "@board/core/schema/all-tables";
import { eq } from "drizzle-orm";
import { expect, test } from "vitest";
import { addBoard } from "../support/board.ts";
import { addField, createField, FIELDS } from "../support/custom-field.ts";
import { setupWorld } from "../support/fixtures.ts";

let count = 0;

const world = await setupWorld();
const home = await world.tenant("home");
const abroad = await world.tenant("abroad");
const second_board: string = (await addBoard(world, home)).board_id;

const token = home.owner.token;
const key = () => `key_${++count}`;
const create = (body: object) => createField(world, home, { field_key: key(), ...body });
const add = (body: object = {}) => addField(world, home, { field_key: key(), ...body });
const list = async () => (await world.call("GET", FIELDS, { token })).body;
const find = async (id: string) => (await list()).find((item: { id: string }) => item.id === id);
const patch = (id: string, body: unknown) => world.call("PATCH", `${FIELDS}/${id}`, { token, body });

test("a custom field needs a key and boards; other fields have defaults", async () => {
  const created = await createField(world, home, { field_key: "  effort " });
  expect([created.status, created.body]).toEqual([
    200,
    {
      id: expect.any(String),
      organization_id: home.organization_id,
      field_key: "effort",
      label: "effort",
      field_type: "text",
      ui_visibility: "always",
      validation_regex: null,
      description: null,
      required: false,
      default_value: null,
      board_ids: [home.board_id],
      created_at: expect.any(String),
      updated_at: expect.any(String),
    },
  ]);
  expect(await find(created.body.id)).toEqual(created.body);
});

test("a custom field stores every property as sent", async () => {
  const properties = {
    label: "Release",
    field_type: "text",
    ui_visibility: "hidden",
    validation_regex: "v\\d+ ?",
    description: "Where it goes out",
    required: true,
    default_value: "v1",
    board_ids: [home.board_id, second_board].toSorted(),
  };
  const created = await create(properties);
  expect(created.body).toMatchObject(properties);
  expect(await find(created.body.id)).toEqual(created.body);
});

test.each([
  ["text (long)", "text_long"],
  ["long_text", "text_long"],
  ["true/false", "boolean"],
  ["date & time", "date_time"],
  ["datetime", "date_time"],
  [" DateTime ", "date_time"],
  ["integer", "integer"],
])("the field type %j is stored as %s", async (field_type, known) => {
  const { id } = await add({ field_type });
  expect((await find(id)).field_type).toBe(known);
});

test("the visibility `if set` is stored as if_set", async () => {
  const { id } = await add({ ui_visibility: "if set" });
  expect((await find(id)).ui_visibility).toBe("if_set");
});

test.each<[string, string, unknown, string]>([
  ["field_key", "absent", undefined, "missing"],
  ["field_key", "blank", " ", "string_too_short"],
  ["field_key", "too long", "k".repeat(101), "string_too_long"],
  ["field_key", "__proto__", "__proto__", "value_error"],
  ["label", "blank", "", "string_too_short"],
  ["label", "too long", "l".repeat(201), "string_too_long"],
  ["field_type", "unknown", "number", "literal_error"],
  ["field_type", "null", null, "string_type"],
  ["field_type", "a property of every object", "constructor", "literal_error"],
  ["ui_visibility", "unknown", "never", "literal_error"],
  ["validation_regex", "too long", "a".repeat(501), "string_too_long"],
  ["description", "too long", "d".repeat(100_001), "string_too_long"],
  ["required", "a string", "yes", "bool_type"],
  ["board_ids", "absent", undefined, "missing"],
  ["board_ids", "empty", [], "too_short"],
  ["board_ids", "a string", "all", "list_type"],
  ["board_ids", "too long", Array.from({ length: 201 }, () => randomUUID()), "too_long"],
])("a custom field whose %s is %s is refused", async (field, _what, value, type) => {
  const body = { field_key: key(), board_ids: [home.board_id], [field]: value };
  const answer = await world.call("POST", FIELDS, { token, body });
  expect([answer.status, answer.body.detail]).toEqual([422, [expect.objectContaining({ type, loc: ["body", field] })]]);
});

test("boards of a field are stored once each, and unknown or foreign ones are refused", async () => {
  const twice = await add({ board_ids: [second_board, second_board.toUpperCase()] });
  expect((await find(twice.id)).board_ids).toEqual([second_board]);
  const unknownBoard = randomUUID();
  const answer = await create({ board_ids: [abroad.board_id, home.board_id, unknownBoard] });
  expect([answer.status, answer.body]).toEqual([
    422,
    {
      detail: {
        message: "One or more boards do not exist in this organization.",
        invalid_board_ids: [abroad.board_id, unknownBoard],
      },
    },
  ]);
});

test("a field key is unique within its organization only", async () => {
  const { field_key } = await add();
  const again = await createField(world, home, { field_key });
  expect([again.status, again.body]).toEqual([409, { detail: "Field key already exists in this organization." }]);
  expect((await createField(world, abroad, { field_key })).status).toBe(200);
});

test.each([
  ["integer", 1.5, "default_value must be an integer."],
  ["integer", "5", "default_value must be an integer."],
  ["boolean", 1, "default_value must be a boolean."],
  ["url", "ftp://example.com", "default_value must be an http or https URL."],
  ["text", 5, "default_value must be a string."],
])("a default value that does not fit its type is refused: %s with %j", async (field_type, default_value, detail) => {
  const answer = await create({ field_type, default_value });
  expect([answer.status, answer.body]).toEqual([422, { detail }]);
});

test("custom fields are sorted by label ignoring case, then by id", async () => {
  for (const label of ["beta", "Alpha", "alpha", "Gamma"]) await add({ label });
  const all: { label: string; id: string }[] = await list();
  const expected = all.toSorted((a, b) => {
    const [left, right] = [a.label.toLowerCase(), b.label.toLowerCase()];
    return left < right ? -1 : left > right ? 1 : a.id < b.id ? -1 : 1;
  });
  expect(all).toEqual(expected);
  expect(all.filter(({ label }) => label.toLowerCase() === "alpha")).toHaveLength(2);
});

test("both path prefixes return the same fields, and only those of the client's organization", async () => {
  const bare = await world.call("GET", "/organizations/me/custom-fields", { token });
  expect(bare.body).toEqual(await list());
  expect(bare.body.length).toBeGreaterThan(0);
  const foreign = (await world.call("GET", FIELDS, { token: abroad.owner.token })).body;
  expect(new Set(foreign.map((item: { organization_id: string }) => item.organization_id))).toEqual(
    new Set([abroad.organization_id]),
  );
});

test("a change of a field affects only the properties it names", async () => {
  const created = (await create({ label: "Before", description: "text", default_value: "x" })).body;
  const changed = await patch(created.id, { label: "After", description: null, ui_visibility: "if set", required: true });
  const expected = { ...created, label: "After", description: null, ui_visibility: "if_set", required: true };
  expect(changed.body).toEqual({ ...expected, updated_at: expect.any(String) });
  expect((await patch(created.id, { default_value: null })).body.default_value).toBe(null);
  const before = await find(created.id);
  expect((await patch(created.id, { label: "After", required: true, board_ids: [home.board_id] })).body).toEqual(before);
});

test("a change of a field's boards replaces them", async () => {
  const { id } = await add();
  expect((await patch(id, { board_ids: [second_board] })).body.board_ids).toEqual([second_board]);
  const both = [home.board_id, second_board].toSorted();
  expect((await patch(id, { board_ids: [second_board, home.board_id] })).body.board_ids).toEqual(both);
  expect((await find(id)).board_ids).toEqual(both);
  const refused = await patch(id, { board_ids: [abroad.board_id], label: "Lost" });
  expect([refused.status, refused.body.detail.invalid_board_ids]).toEqual([422, [abroad.board_id]]);
  expect(await find(id)).toMatchObject({ board_ids: both });
  expect((await find(id)).label).not.toBe("Lost");
});

test("a field's key cannot be changed", async () => {
  const { id, field_key } = await add();
  for (const sent of [field_key, "other", null]) {
    const answer = await patch(id, { field_key: sent, label: "Other" });
    expect([answer.status, answer.body.detail]).toEqual([
      422,
      [expect.objectContaining({ type: "value_error", msg: "Value error, field_key cannot be changed after creation." })],
    ]);
  }
});

test("a change of a field needs at least one property, and some properties cannot be null", async () => {
  const { id } = await add();
  for (const body of [{}, { unknown: 1 }])
    expect((await patch(id, body)).body.detail).toEqual([
      expect.objectContaining({ type: "value_error", loc: ["body"], msg: "Value error, At least one field is required" }),
    ]);
  for (const field of ["label", "field_type", "ui_visibility", "required", "board_ids"]) {
    const answer = await patch(id, { [field]: null });
    expect([answer.status, answer.body.detail], field).toEqual([422, [expect.objectContaining({ loc: ["body", field] })]]);
  }
  expect((await patch(id, { board_ids: [] })).status).toBe(422);
});

test("a change of a field checks type, pattern and default together, as they are after the change", async () => {
  const { id } = await add({ default_value: "abc" });
  expect((await patch(id, { field_type: "integer" })).body).toEqual({ detail: "default_value must be an integer." });
  expect((await patch(id, { validation_regex: "\\d+" })).body).toEqual({
    detail: "default_value does not match validation_regex.",
  });
  expect((await patch(id, { validation_regex: "\\d+", default_value: "12" })).status).toBe(200);
  expect((await patch(id, { default_value: "ab" })).status).toBe(422);
  expect((await patch(id, { field_type: "integer", default_value: 12 })).body.detail).toMatch(/^validation_regex is only/);
  const number = await patch(id, { field_type: "integer", default_value: 12, validation_regex: null });
  expect(number.body).toMatchObject({ field_type: "integer", default_value: 12, validation_regex: null });
});

test("a deleted field is not found", async () => {
  const { id } = await add();
  expect((await world.call("DELETE", `${FIELDS}/${id}`, { token })).body).toEqual({ ok: true });
  expect(await find(id)).toBeUndefined();
  expect((await world.call("DELETE", `${FIELDS}/${id}`, { token })).status).toBe(404);
  expect((await patch(id, { label: "Gone" })).status).toBe(404);
});

test("deleting a board keeps its fields on their other boards", async () => {
  const third = (await addBoard(world, home, "Third")).board_id;
  const { id } = await add({ board_ids: [third, home.board_id] });
  await world.db.delete(boards).where(eq(boards.id, third));
  expect((await find(id)).board_ids).toEqual([home.board_id]);
});

test("the list of fields takes two statements, authentication included", async () => {
  expect(await world.countStatements(() => list())).toBeLessThanOrEqual(2);
});
