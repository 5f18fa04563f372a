import { expect, test } from "vitest";
import { setupWorld } from "../support/fixtures.ts";

const TAKEN = { detail: "Board slug already exists in this organization." };

const world = await setupWorld();
const home = await world.tenant("home");
const abroad = await world.tenant("abroad");

const create = (changed: object, { owner, gateway_id } = home) =>
  world.call("POST", "/api/v1/boards", { token: owner.token, body: { description: "A board", gateway_id, ...changed } });
const patch = (id: string, body: object) => world.call("PATCH", `/api/v1/boards/${id}`, { token: home.owner.token, body });

test.each([
  [{ name: "Bug / Issue" }, "bug-issue"],
  [{ name: "P0 Critical!!!", slug: "  " }, "p0-critical"],
  [{ name: "Ünïcode", slug: null }, "n-code"],
  [{ name: "!!!" }, "board"],
  [{ name: "Any", slug: " Given / Slug!" }, "given-slug"],
  [{ name: "x".repeat(99).concat(" y") }, "x".repeat(99)],
])("the board slug of %j is %s", async (body, slug) => {
  expect((await create(body)).body.slug).toBe(slug);
});

test("a derived board slug gets the next free number, and sending a slug that is taken is a conflict", async () => {
  const slugs: string[] = [];
  for (const name of ["Same", "same", "SAME!", "Same Again"]) slugs.push((await create({ name })).body.slug);
  expect(slugs).toEqual(["same", "same-2", "same-3", "same-again"]);
  const conflicting = await create({ name: "Other", slug: "Same" });
  expect([conflicting.status, conflicting.body]).toEqual([409, TAKEN]);
  expect((await create({ name: "Same" }, abroad)).body.slug).toBe("same");
});

test("a derived board slug gets the first free number, even between numbers that are taken", async () => {
  await create({ name: "Gap" });
  await create({ name: "Any", slug: "gap-3" });
  expect([(await create({ name: "Gap" })).body.slug, (await create({ name: "Gap" })).body.slug]).toEqual(["gap-2", "gap-4"]);
});

test("renaming a board keeps its slug, a blank slug is derived again, and a slug that is taken is a conflict", async () => {
  await create({ name: "Occupied" });
  const { id } = (await create({ name: "First" })).body;
  expect((await patch(id, { name: "Second" })).body.slug).toBe("first");
  expect((await patch(id, { slug: "" })).body.slug).toBe("second");
  expect((await patch(id, { name: "Third", slug: " " })).body).toMatchObject({ name: "Third", slug: "third" });
  expect((await patch(id, { name: "Occupied", slug: "" })).body.slug).toBe("occupied-2");
  expect((await patch(id, { slug: "" })).body.slug).toBe("occupied-2");
  const taken = await patch(id, { slug: "Occupied" });
  expect([taken.status, taken.body]).toEqual([409, TAKEN]);
  expect((await patch(id, { slug: "Free One" })).body.slug).toBe("free-one");
});
