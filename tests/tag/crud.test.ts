import { tag_assignments, tasks } from "@board/core/schema/all-tables";
import { expect, test } from "vitest";
import { setupWorld } from "../support/fixtures.ts";

const world = await setupWorld();
const home = await world.tenant("home");
const abroad = await world.tenant("abroad");

const token = home.owner.token;
const create = (body: object, prefix = "/api/tags") => world.call("POST", prefix, { token, body });

test.each([
  ["Bug / Issue", "bug-issue"],
  ["P0 Critical!!!", "p0-critical"],
  ["  --Ünïcode  ", "n-code"],
  ["!!!", "tag"],
])("a slug is derived from the name %j", async (name, slug) => {
  const created = await create({ name });
  expect(created.status).toBe(200);
  expect(created.body).toMatchObject({ name: name.trim(), slug, color: "9e9e9e", description: null, task_count: 0 });
});

test("a color is stored as six lower-case digits without its hash sign", async () => {
  expect((await create({ name: "Red", color: " #FF00aa " })).body.color).toBe("ff00aa");
  for (const color of ["#12345", "1234567", "red", "##123456", "12345g", null, 5])
    expect((await create({ name: "Odd", color })).status, String(color)).toBe(422);
});

test("both path prefixes return the same tags: an array under /api, a page under /api/v1", async () => {
  const created = await create({ name: "Both", description: "  kept trimmed " }, "/api/v1/tags");
  expect(created.body.description).toBe("kept trimmed");
  const list = (await world.call("GET", "/api/tags?limit=100", { token })).body;
  const page = (await world.call("GET", "/api/v1/tags?limit=200", { token })).body;
  expect(page).toMatchObject({ items: list, total: list.length, limit: 200, offset: 0 });
  expect(list.map((tag: { name: string }) => tag.name.toLowerCase())).toEqual(
    list.map((tag: { name: string }) => tag.name.toLowerCase()).toSorted(),
  );
  for (const prefix of ["/api/tags", "/api/v1/tags"])
    expect((await world.call("GET", `${prefix}/${created.body.id.toUpperCase()}`, { token })).body).toEqual(created.body);
});

test("a page of tags past the end is empty and has the true total", async () => {
  const { total } = (await world.call("GET", "/api/v1/tags", { token })).body;
  const past = await world.call("GET", "/api/v1/tags?limit=2&offset=1000", { token });
  expect(past.body).toEqual({ items: [], total, limit: 2, offset: 1000 });
  const first = await world.call("GET", "/api/v1/tags?limit=2", { token });
  expect([first.body.items.length, first.body.total]).toEqual([2, total]);
});

test.each([
  ["/api/tags?limit=101", "less_than_equal"],
  ["/api/v1/tags?limit=201", "less_than_equal"],
  ["/api/v1/tags?limit=0", "greater_than_equal"],
  ["/api/v1/tags?limit=ten", "int_type"],
  ["/api/v1/tags?limit=", "int_type"],
  ["/api/v1/tags?limit=1.5", "int_type"],
])("a tag list with a limit out of range is refused: %s", async (path, type) => {
  const answer = await world.call("GET", path, { token });
  expect(answer.status).toBe(422);
  expect(answer.body.detail).toMatchObject([{ type, loc: ["query", "limit"] }]);
});

test("a tag slug is unique within its organization only, whether sent or derived", async () => {
  await create({ name: "Unique", slug: "One Of A Kind" });
  for (const body of [{ name: "Other", slug: "one-of-a-kind" }, { name: "One of a kind" }]) {
    const again = await create(body);
    expect([again.status, again.body]).toEqual([409, { detail: "Tag slug already exists in this organization." }]);
  }
  expect((await world.call("POST", "/api/tags", { token: abroad.owner.token, body: { name: "One of a kind" } })).status).toBe(
    200,
  );
});

test("renaming a tag keeps its slug, a blank slug is derived again, an empty description clears it", async () => {
  const { id } = (await create({ name: "First name", description: "text" })).body;
  const patch = async (body: object) => (await world.call("PATCH", `/api/v1/tags/${id}`, { token, body })).body;
  expect(await patch({ name: "Second name" })).toMatchObject({ name: "Second name", slug: "first-name" });
  expect(await patch({ slug: " " })).toMatchObject({ slug: "second-name" });
  expect(await patch({ name: "Third name", slug: null })).toMatchObject({ slug: "third-name" });
  expect(await patch({ description: "" })).toMatchObject({ description: null });
});

test("a change of a tag to its current values does not change the row", async () => {
  const created = (await create({ name: "Still", color: "#ABCDEF" })).body;
  const same = await world.call("PATCH", `/api/tags/${created.id}`, { token, body: { name: "Still", color: "abcdef" } });
  expect(same.body).toEqual(created);
});

test("a change of a tag needs at least one known field, and neither name nor color may be null", async () => {
  const { id } = (await create({ name: "Patchable" })).body;
  const patch = (body: unknown) => world.call("PATCH", `/api/tags/${id}`, { token, body });
  expect((await patch({})).body.detail).toEqual([
    { type: "value_error", loc: ["body"], msg: "Value error, At least one field is required", input: "object with 0 keys" },
  ]);
  expect((await patch({ unknown: 1 })).status).toBe(422);
  expect((await patch({ name: null })).body.detail).toMatchObject([{ type: "string_type", loc: ["body", "name"] }]);
  expect((await patch({ color: null })).status).toBe(422);
  expect((await patch([])).body.detail).toMatchObject([{ type: "model_attributes_type", loc: ["body"] }]);
});

test("changing a tag to a slug that is taken is a conflict", async () => {
  await create({ name: "Taken" });
  const { id } = (await create({ name: "Free" })).body;
  expect((await world.call("PATCH", `/api/tags/${id}`, { token, body: { slug: "taken" } })).status).toBe(409);
});

test("a tag counts its tasks, and deleting it removes it from them", async () => {
  const { id } = (await create({ name: "Counted" })).body;
  const [task] = await world.db.insert(tasks).values({ board_id: home.board_id, title: "Task" }).returning();
  await world.db.insert(tag_assignments).values({ tag_id: id, task_id: task!.id, position: 0 });
  expect((await world.call("GET", `/api/tags/${id}`, { token })).body.task_count).toBe(1);
  expect((await world.call("DELETE", `/api/tags/${id}`, { token })).body).toEqual({ ok: true });
  expect(await world.db.select().from(tag_assignments)).toEqual([]);
  expect((await world.call("DELETE", `/api/tags/${id}`, { token })).status).toBe(404);
});
