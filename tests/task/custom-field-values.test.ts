import { task_custom_field_values, tasks } from "@board/core/schema/all-tables";
import { eq } from "drizzle-orm";
import { beforeEach, expect, test } from "vitest";
import { listEvents } from "../support/activity.ts";
import { addField, FIELDS } from "../support/custom-field.ts";
import { statusAndBody } from "../support/http.ts";
import { setupWorld } from "../support/fixtures.ts";

/** Each test has a separate board, because required fields apply to every task of a board. */
let board_id: string;
let count = 0;

beforeEach(async () => {
  board_id = await openBoard();
});

const token = () => home.owner.token;

const world = await setupWorld();
const home = await world.tenant("home");
const other_board = await openBoard();

async function openBoard(): Promise<string> {
  const body = { name: `Board ${++count}`, description: "A board", gateway_id: home.gateway_id };
  return (await world.call("POST", "/api/v1/boards", { token: token(), body })).body.id;
}
const field = (body: object, board_ids = [board_id]) =>
  addField(world, home, { field_key: `key_${++count}`, board_ids, ...body });
const change = (id: string, body: object) => world.call("PATCH", `${FIELDS}/${id}`, { token: token(), body });
const remove = (id: string) => world.call("DELETE", `${FIELDS}/${id}`, { token: token() });

const all = () => `/api/v1/boards/${board_id}/tasks`;
const create = (custom_field_values?: object) =>
  world.call("POST", all(), { token: token(), body: { title: "Task", custom_field_values } });
const patch = (id: string, custom_field_values: object | null) =>
  world.call("PATCH", `${all()}/${id}`, { token: token(), body: { custom_field_values } });
const read = async (id: string) => (await world.call("GET", `${all()}/${id}`, { token: token() })).body;
const shown = async (id: string) => (await read(id)).custom_field_values;
const stored = (definition_id: string) =>
  world.db.select().from(task_custom_field_values).where(eq(task_custom_field_values.definition_id, definition_id));

test.each<[string, unknown[]]>([
  ["text", ["", " kept to the letter ", "1", "null", "Ünïcode 🙂", "l".repeat(60_000)]],
  ["text_long", ["one\ntwo"]],
  ["integer", [0, -5, 2, 9_007_199_254_740_991, 1e300]],
  ["decimal", [0, 0.1, -2.5e-300, 7, 1e300]],
  ["boolean", [true, false]],
  ["date", ["2026-02-28", "2024-02-29", "1900-01-01"]],
  ["date_time", ["2026-11-20T10:24:09.799Z", "2026-11-20T10:24", "2026-11-20 10:24:09+02:00"]],
  ["url", ["https://example.com", "HTTP://localhost:80/path?a=b#c", "https://[::1]/"]],
  ["json", [{}, [], { a: [1, null, { b: "c" }] }, [1, "two", null], { constructor: 1 }]],
])("a value of type %s is returned as it was sent", async (field_type, values) => {
  const { field_key } = await field({ field_type });
  for (const value of [...values, null]) {
    const created = await create({ [field_key]: value });
    expect([created.status, created.body.custom_field_values]).toEqual([200, { [field_key]: value }]);
    expect(await shown(created.body.id)).toEqual({ [field_key]: value });
  }
});

test("the keys of a JSON value and of a default keep their order, and can be reordered", async () => {
  const [first, second] = [
    { long: 1, b: { y: 1, x: 2 } },
    { b: { x: 2, y: 1 }, long: 1 },
  ];
  const text = async (id: string, key: string) => JSON.stringify((await shown(id))[key]);
  const { field_key, id } = await field({ field_type: "json", default_value: first });
  const task = (await create()).body;
  expect(await text(task.id, field_key)).toBe(JSON.stringify(first));
  await patch(task.id, { [field_key]: second });
  expect(await text(task.id, field_key)).toBe(JSON.stringify(second));
  const changed = await change(id, { default_value: second });
  expect(JSON.stringify(changed.body.default_value)).toBe(JSON.stringify(second));
});

test("values of custom fields are shown in the order of their labels", async () => {
  await field({ field_key: "a_first", label: "zeta" });
  await field({ field_key: "b_second_and_long", label: "Alpha" });
  await field({ field_key: "c", label: "beta" });
  const keys = Object.keys((await create()).body.custom_field_values);
  expect(keys).toEqual(["b_second_and_long", "c", "a_first"]);
});

test.each<[string, string, unknown[]]>([
  ["text", "must be a string", [5, true, {}, []]],
  ["integer", "must be an integer", ["5", 1.5, true, false, [], {}, ""]],
  ["decimal", "must be a number", ["0.5", true, []]],
  ["boolean", "must be a boolean", ["true", 0, 1]],
  ["date", "must be an ISO date", ["2026-02-30", "2026-2-3", "20260203", "2026-02-03T00:00Z", " 2026-02-03", "", "1899-12-31"]],
  ["date", "must be a string", [20_260_203]],
  [
    "date_time",
    "must be an ISO datetime",
    ["2026-02-03", "2026-02-30T10:00Z", "2026-02-03T25:00", "now", "2026-02-03T10:00 ", ""],
  ],
  [
    "url",
    "must be an http or https URL",
    [
      "ftp://example.com",
      "http://",
      "http:///path",
      "example.com",
      "javascript:alert(1)",
      "http:example.com",
      "http://a b",
      " http://a",
      "",
    ],
  ],
  ["url", "must have at most 2000 characters", [`https://example.com/${"a".repeat(2_000)}`]],
  ["json", "must be a JSON object or array", ["{}", 5, true]],
])("an invalid value of type %s is refused: %s", async (field_type, reason, values) => {
  const { field_key } = await field({ field_type });
  const { id } = (await create()).body;
  const refused = [422, { detail: { message: "Custom field value is not valid.", field_key, field_type, reason } }];
  for (const value of values) {
    expect(statusAndBody(await create({ [field_key]: value })), JSON.stringify(value)).toEqual(refused);
    expect(statusAndBody(await patch(id, { [field_key]: value })), JSON.stringify(value)).toEqual(refused);
  }
  expect(await shown(id)).toEqual({ [field_key]: null });
});

test("a field applies to its own boards only", async () => {
  const here = await field({});
  const elsewhere = await field({ required: true }, [other_board]);
  const created = await create({ [here.field_key]: "x" });
  expect(created.body.custom_field_values).toEqual({ [here.field_key]: "x" });
  expect(statusAndBody(await create({ [here.field_key]: "x", [elsewhere.field_key]: "y", other: 1 }))).toEqual([
    422,
    { detail: { message: "Unknown custom fields for this board.", unknown_field_keys: [elsewhere.field_key, "other"] } },
  ]);
});

test("unknown fields are reported before invalid values, and invalid values before missing ones", async () => {
  const number = await field({ field_type: "integer" });
  await field({ required: true });
  const bad = { [number.field_key]: "five" };
  expect(Object.keys((await create({ ...bad, unknown: 1 })).body.detail)).toContain("unknown_field_keys");
  expect(Object.keys((await create(bad)).body.detail)).toContain("reason");
  expect(Object.keys((await create({})).body.detail)).toContain("missing_field_keys");
});

test("a required field needs a value other than null: a sent value, a stored value or the default", async () => {
  const second = await field({ required: true, label: "B" });
  const first = await field({ required: true, label: "a" });
  const defaulted = await field({ required: true, default_value: "given" });
  const missing = (...missing_field_keys: string[]) => [
    422,
    { detail: { message: "Required custom fields have no value.", missing_field_keys } },
  ];
  expect(statusAndBody(await create())).toEqual(missing(first.field_key, second.field_key));
  expect(statusAndBody(await create({ [first.field_key]: "x" }))).toEqual(missing(second.field_key));
  const sent = { [first.field_key]: "x", [second.field_key]: "y" };
  expect(statusAndBody(await create({ ...sent, [defaulted.field_key]: null }))).toEqual(missing(defaulted.field_key));
  const { id } = (await create(sent)).body;
  expect((await patch(id, { [first.field_key]: "z" })).status).toBe(200);
  expect(statusAndBody(await patch(id, { [first.field_key]: null }))).toEqual(missing(first.field_key));
  expect(await shown(id)).toEqual({ ...sent, [first.field_key]: "z", [defaulted.field_key]: "given" });
});

test("a task without a value that is now required needs one as soon as its custom fields are changed", async () => {
  const { id } = (await create()).body;
  const late = await field({ required: true });
  expect((await world.call("PATCH", `${all()}/${id}`, { token: token(), body: { title: "Renamed" } })).status).toBe(200);
  expect((await patch(id, null)).status).toBe(200);
  expect((await patch(id, {})).body.detail.missing_field_keys).toEqual([late.field_key]);
  expect((await patch(id, { [late.field_key]: "here" })).status).toBe(200);
  expect((await patch(id, {})).status).toBe(200);
});

test("a new task stores the current defaults, and a task that is older than a field shows the field's current default", async () => {
  const before = (await create()).body.id;
  const { id: definition_id, field_key } = await field({ default_value: "old" });
  const created = (await create()).body.id;
  expect([await shown(before), await shown(created)]).toEqual([{ [field_key]: "old" }, { [field_key]: "old" }]);
  await change(definition_id, { default_value: "new" });
  expect([await shown(before), await shown(created)]).toEqual([{ [field_key]: "new" }, { [field_key]: "old" }]);
});

test("an explicit null overrides the default", async () => {
  const { field_key } = await field({ default_value: "default" });
  const created = (await create({ [field_key]: null })).body;
  expect(created.custom_field_values).toEqual({ [field_key]: null });
  const other = (await create()).body;
  expect((await patch(other.id, { [field_key]: null })).body.custom_field_values).toEqual({ [field_key]: null });
  expect(await shown(other.id)).toEqual({ [field_key]: null });
});

test("a change writes only the values that differ", async () => {
  const first = await field({});
  const second = await field({ field_type: "json" });
  const created = (await create({ [first.field_key]: "a", [second.field_key]: { x: 1, y: 2 } })).body;
  const updates = () => listEvents(world, { task_id: created.id, event_type: "task.updated" });
  const same = await patch(created.id, { [first.field_key]: "a", [second.field_key]: { x: 1, y: 2 } });
  expect([same.body, await updates()]).toEqual([created, []]);
  const changed = (await patch(created.id, { [first.field_key]: "b" })).body;
  expect(changed.custom_field_values).toEqual({ [first.field_key]: "b", [second.field_key]: { x: 1, y: 2 } });
  expect(Date.parse(changed.updated_at)).toBeGreaterThan(Date.parse(created.updated_at));
  expect(await updates()).toHaveLength(1);
  expect(await stored(first.id)).toMatchObject([{ task_id: created.id, value: "b" }]);
});

test("agents of the board set custom fields as people do", async () => {
  board_id = home.board_id;
  const { id: definition_id, field_key } = await field({ field_type: "integer" });
  const { id } = (await create()).body;
  const path = `/api/v1/agent/boards/${board_id}/tasks/${id}`;
  const send = (value: unknown) =>
    world.call("PATCH", path, { agent: home.worker.token, body: { custom_field_values: { [field_key]: value } } });
  expect((await send(5)).body.custom_field_values).toMatchObject({ [field_key]: 5 });
  expect((await send("5")).body.detail).toMatchObject({ field_key, reason: "must be an integer" });
  await world.call("DELETE", `${all()}/${id}`, { token: token() });
  expect((await remove(definition_id)).status).toBe(200);
});

test("a type or pattern that stored values would violate is refused", async () => {
  const { id, field_key } = await field({});
  await create({ [field_key]: "abc" });
  await create({ [field_key]: null });
  expect(statusAndBody(await change(id, { field_type: "integer" }))).toEqual([
    409,
    { detail: "Tasks have values that do not fit this change: a value must be an integer." },
  ]);
  expect(statusAndBody(await change(id, { validation_regex: "\\d+" }))).toEqual([
    409,
    { detail: "Tasks have values that do not fit this change: a value does not match validation_regex." },
  ]);
  expect((await change(id, { field_type: "text_long", validation_regex: "[a-z]+" })).status).toBe(200);
  expect((await change(id, { required: true })).status).toBe(200);
});

test("a new pattern is checked against every stored value, even if there are more than one batch holds", async () => {
  const { id, field_key } = await field({});
  const { id: task_id } = (await create({ [field_key]: "1" })).body;
  const several = Array.from({ length: 1_200 }, () => ({ board_id, title: "Copy" }));
  const copies = await world.db.insert(tasks).values(several).returning();
  await world.db
    .insert(task_custom_field_values)
    .values(copies.map((copy) => ({ definition_id: id, task_id: copy.id, value: "1" })));
  expect((await change(id, { validation_regex: "\\d" })).status).toBe(200);
  const rows = await stored(id);
  const last = rows.toSorted((a, b) => (a.id < b.id ? -1 : 1)).at(-1)!;
  expect(rows.find((row) => row.task_id === task_id)!.value).toBe("1");
  await world.db.update(task_custom_field_values).set({ value: "22" }).where(eq(task_custom_field_values.id, last.id));
  expect((await change(id, { validation_regex: "\\d?" })).status).toBe(409);
});

test("values of tasks whose board lost the field are ignored, and if the board gets the field back, only valid values are shown again", async () => {
  const { id, field_key } = await field({});
  const kept = (await create({ [field_key]: "12" })).body.id;
  const misfit = (await create({ [field_key]: "twelve" })).body.id;
  expect((await change(id, { board_ids: [other_board] })).status).toBe(200);
  expect(await shown(kept)).toEqual({});
  expect((await change(id, { validation_regex: "\\d+" })).status).toBe(200);
  expect((await change(id, { board_ids: [board_id] })).status).toBe(200);
  expect([await shown(kept), await shown(misfit)]).toEqual([{ [field_key]: "12" }, { [field_key]: null }]);
});

test("when a field returns to a board with a new type, the board's old values are checked", async () => {
  const { id, field_key } = await field({});
  await create({ [field_key]: "twelve" });
  await change(id, { board_ids: [other_board] });
  expect((await change(id, { board_ids: [board_id], field_type: "integer" })).status).toBe(409);
  expect((await change(id, { board_ids: [other_board], field_type: "integer" })).status).toBe(200);
});

test("a field can be deleted only when no task of its boards has a value; values on other boards are deleted with it", async () => {
  const { id, field_key } = await field({});
  const task = (await create({ [field_key]: "x" })).body.id;
  const refused = [409, { detail: "Cannot delete a custom field definition while task values exist." }];
  expect(statusAndBody(await remove(id))).toEqual(refused);
  expect(await shown(task)).toEqual({ [field_key]: "x" });
  await change(id, { board_ids: [other_board] });
  expect((await remove(id)).body).toEqual({ ok: true });
  expect(await stored(id)).toEqual([]);

  const again = await field({ default_value: "stored with every new task" });
  const second = (await create()).body.id;
  expect(statusAndBody(await remove(again.id))).toEqual(refused);
  await world.call("DELETE", `${all()}/${second}`, { token: token() });
  expect((await remove(again.id)).status).toBe(200);
});

test("all values of a new task cost two statements: one reads their patterns and one writes them", async () => {
  const count = async (values: object) => {
    world.statements.length = 0;
    expect((await create(values)).status).toBe(200);
    return world.statements.length;
  };
  const bare = await count({});
  const fields = [await field({}), await field({}), await field({ default_value: "x" })];
  expect(await count(Object.fromEntries(fields.slice(0, 2).map(({ field_key }) => [field_key, "v"])))).toBe(bare + 2);
});
