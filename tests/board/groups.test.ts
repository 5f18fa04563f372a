import { board_group_memory, boards, jobs, organization_board_access } from "@board/core/schema/all-tables";
import { eq } from "drizzle-orm";
import { beforeAll, describe, expect, test } from "vitest";
import { setupWorld } from "../support/fixtures.ts";
import { addBoard } from "../support/board.ts";
import { addGroup } from "../support/group.ts";
import type { Person } from "../support/world.ts";
import { addPersonWithRights, type Rights } from "./rights.ts";

const TAKEN = { detail: "Board group slug already exists in this organization." };
const MISSED = { detail: "Not Found" };
const DENIED = { detail: "Board access denied" };

const world = await setupWorld();
const home = await world.tenant("home");
const abroad = await world.tenant("abroad");

const call = (method: string, path: string, body?: unknown, { token } = home.owner) =>
  world.call(method, `/api/v1/board-groups${path}`, { token, body });
const create = (body: object, person = home.owner) => call("POST", "", body, person);
const names = async (person: Person, query = "") =>
  (await call("GET", query, undefined, person)).body.items.map((group: { name: string }) => group.name);

describe("a board group", () => {
  test("a group is created with a name alone and returned as created", async () => {
    const created = await create({ name: " Platform ", id: "x", organization_id: abroad.organization_id });
    expect([created.status, created.body]).toEqual([
      200,
      {
        id: expect.any(String),
        organization_id: home.organization_id,
        name: "Platform",
        slug: "platform",
        description: null,
        created_at: expect.any(String),
        updated_at: created.body.created_at,
      },
    ]);
    expect((await call("GET", `/${created.body.id.toUpperCase()}`)).body).toEqual(created.body);
  });

  test.each([
    [{ name: "Bug / Issue" }, "bug-issue"],
    [{ name: "P0 Critical!!!", slug: "  " }, "p0-critical"],
    [{ name: "!!!", slug: null }, "group"],
    [{ name: "Any", slug: " Given / Slug!" }, "given-slug"],
    [{ name: "x".repeat(120) }, "x".repeat(100)],
    [{ name: "x".repeat(120) }, `${"x".repeat(98)}-2`],
  ])("a group created with %j has the slug %s", async (body, slug) => {
    expect((await create(body)).body.slug).toBe(slug);
  });

  test("within an organization, a derived group slug gets the next free number, and sending a slug that is taken is a conflict", async () => {
    const slugs: string[] = [];
    for (const name of ["Same", "same", "SAME!"]) slugs.push((await create({ name })).body.slug);
    expect(slugs).toEqual(["same", "same-2", "same-3"]);
    const conflicting = await create({ name: "Other", slug: "Same" });
    expect([conflicting.status, conflicting.body]).toEqual([409, TAKEN]);
    expect((await create({ name: "Same" }, abroad.owner)).body.slug).toBe("same");
  });

  test("a group may have the same slug as a board", async () => {
    expect((await create({ name: "home board" })).body.slug).toBe("home-board");
  });

  test.each([
    [{}, "missing"],
    [{ name: "" }, "string_too_short"],
    [{ name: null }, "string_type"],
    [{ name: "x".repeat(201) }, "string_too_long"],
  ])("a new group with %j is refused", async (body, type) => {
    const created = await create(body);
    expect([created.status, created.body.detail]).toMatchObject([422, [{ type, loc: ["body", "name"] }]]);
  });

  test("renaming a group keeps its slug, a blank slug is derived again, and a blank description is cleared", async () => {
    const { id } = (await create({ name: "First name", description: "text" })).body;
    const patch = async (body: object) => (await call("PATCH", `/${id}`, body)).body;
    expect(await patch({ name: "Second name" })).toMatchObject({ name: "Second name", slug: "first-name", description: "text" });
    expect(await patch({ slug: " " })).toMatchObject({ slug: "second-name" });
    expect(await patch({ name: "Third name", slug: null })).toMatchObject({ slug: "third-name" });
    expect(await patch({ description: " " })).toMatchObject({ description: null });
    await create({ name: "Occupied" });
    expect(await patch({ slug: "occupied" })).toEqual(TAKEN);
    expect((await call("PATCH", `/${id}`, { name: null })).status).toBe(422);
  });

  test("a change of a group to its current values does not change the row", async () => {
    const created = (await create({ name: "Still" })).body;
    for (const body of [{}, { unknown: 1 }, { name: "Still", slug: "still", description: null }])
      expect((await call("PATCH", `/${created.id}`, body)).body).toEqual(created);
  });

  test("deleting a group deletes its memory, keeps its boards and notifies no agent", async () => {
    const { board_id } = await addBoard(world, home, "Member");
    const board_group_id = await addGroup(world, home, "Leaving", [board_id]);
    await world.db.insert(board_group_memory).values({ board_group_id, content: "Remember" });
    const before = (await world.call("GET", `/api/v1/boards/${board_id}`, home.owner)).body;
    const waiting = (await world.db.select().from(jobs)).length;
    expect((await call("DELETE", `/${board_group_id}`)).body).toEqual({ ok: true });
    expect(await world.db.select().from(board_group_memory)).toEqual([]);
    const after = (await world.call("GET", `/api/v1/boards/${board_id}`, home.owner)).body;
    expect(after).toEqual({ ...before, board_group_id: null, updated_at: expect.any(String) });
    expect(Date.parse(after.updated_at)).toBeGreaterThan(Date.parse(before.updated_at));
    expect((await world.db.select().from(jobs)).length).toBe(waiting);
    expect((await call("DELETE", `/${board_group_id}`)).status).toBe(404);
  });
});

describe("access to board groups", () => {
  let filled: string;
  let empty: string;
  let board_id: string;

  beforeAll(async () => {
    ({ board_id } = await addBoard(world, home, "Shared"));
    filled = await addGroup(world, home, "Filled", [board_id, home.board_id]);
    empty = await addGroup(world, home, "Empty", []);
  });

  // The first pair has the statuses of reading, the second the statuses of changing. In each pair, the group with boards comes
  // before the empty group.
  test.each<[Rights, [number, number], [number, number]]>([
    [{}, [404, 404], [403, 403]],
    [{ read: true }, [200, 200], [403, 403]],
    [{ write: true }, [200, 200], [403, 403]],
    [{ board: { can_read: true, can_write: false } }, [200, 404], [403, 403]],
    [{ board: { can_read: false, can_write: true } }, [200, 404], [403, 403]],
    [{ board: { can_read: false, can_write: false } }, [404, 404], [403, 403]],
    [{ role: "admin" }, [404, 200], [404, 200]],
    [{ role: "owner" }, [404, 200], [404, 200]],
    [{ role: "admin", read: true }, [200, 200], [403, 200]],
    [{ role: "admin", write: true }, [200, 200], [200, 200]],
    [{ role: "admin", board: { can_read: true, can_write: false } }, [200, 200], [403, 200]],
    [{ role: "admin", board: { can_read: false, can_write: true } }, [200, 200], [200, 200]],
  ])("with the rights %j reading the two groups gives %j and changing them %j", async (rights, reading, changing) => {
    const person = await addPersonWithRights(world, { ...home, board_id }, rights);
    const refusals: Record<number, object> = { 404: MISSED, 403: rights.role ? DENIED : { detail: "Forbidden" } };
    const outcome = ({ status, body }: { status: number; body: object }) => [status, status === 200 ? null : body];
    for (const [index, id] of [filled, empty].entries()) {
      const expected = (status: number) => [status, refusals[status] ?? null];
      for (const path of ["", "/snapshot"])
        expect(outcome(await call("GET", `/${id}${path}`, undefined, person)), path).toEqual(expected(reading[index]!));
      expect(outcome(await call("PATCH", `/${id}`, {}, person))).toEqual(expected(changing[index]!));
      expect(outcome(await call("POST", `/${id}/heartbeat`, { every: "10m" }, person))).toEqual(expected(changing[index]!));
      const method = changing[index] === 200 ? "PATCH" : "DELETE";
      expect(outcome(await call(method, `/${id}`, {}, person))).toEqual(expected(changing[index]!));
    }
    const listed = await names(person, "?limit=200");
    expect([listed.includes("Filled"), listed.includes("Empty")]).toEqual(reading.map((status) => status === 200));
  });

  const UNKNOWN = { detail: "board_group_id is invalid" };
  test.each<[Rights, object | null, object | null]>([
    [{}, UNKNOWN, UNKNOWN],
    [{ read: true }, DENIED, DENIED],
    [{ write: true }, null, null],
    [{ board: { can_read: true, can_write: false } }, DENIED, UNKNOWN],
    [{ board: { can_read: false, can_write: true } }, null, UNKNOWN],
    [{ role: "admin" }, null, null],
  ])(
    "a person with the rights %j who may write to a board outside adds it to a group only with the right to write to the group",
    async (rights, ...refusals) => {
      const person = await addPersonWithRights(world, home, rights);
      const { board_id: own } = await addBoard(world, home, "Outside");
      const { id } = (await world.call("GET", "/organizations/me/member", person)).body;
      await world.db
        .insert(organization_board_access)
        .values({ organization_member_id: id, board_id: own, can_read: true, can_write: true });
      for (const [index, board_group_id] of [filled, empty].entries()) {
        const moved = await world.call("PATCH", `/api/v1/boards/${own}`, { token: person.token, body: { board_group_id } });
        const refusal = refusals[index];
        expect(moved.body).toMatchObject(refusal ?? { board_group_id });
        expect((await call("GET", `/${board_group_id}`, undefined, person)).status).toBe(refusal === UNKNOWN ? 404 : 200);
        await world.db.update(boards).set({ board_group_id: null }).where(eq(boards.id, own));
      }
    },
  );

  test("a person moves a board into a group of the board's organization while another organization is active", async () => {
    const person = await addPersonWithRights(world, home, { write: true });
    await world.call("POST", "/organizations", { token: person.token, body: { name: "Elsewhere" } });
    const { board_id: own } = await addBoard(world, home, "Outside");
    const body = { board_group_id: filled };
    expect((await world.call("PATCH", `/api/v1/boards/${own}`, { token: person.token, body })).status).toBe(200);
  });
});

test("groups are sorted by name ignoring case, with true totals", async () => {
  const tenant = await world.tenant("list");
  for (const name of ["beta", "Alpha", "gamma"]) await create({ name }, tenant.owner);
  expect(await names(tenant.owner)).toEqual(["Alpha", "beta", "gamma"]);
  const page = async (query: string) => (await call("GET", query, undefined, tenant.owner)).body;
  expect(await page("?limit=2&offset=1")).toMatchObject({
    total: 3,
    limit: 2,
    offset: 1,
    items: [{ name: "beta" }, { name: "gamma" }],
  });
  expect(await page("?offset=9")).toEqual({ items: [], total: 3, limit: 200, offset: 9 });
  expect((await call("GET", "?limit=201", undefined, tenant.owner)).status).toBe(422);
});
