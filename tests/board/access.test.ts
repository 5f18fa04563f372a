import { board_groups, organization_members, users } from "@board/core/schema/all-tables";
import { eq } from "drizzle-orm";
import { beforeAll, describe, expect, test } from "vitest";
import { setupWorld } from "../support/fixtures.ts";
import type { Person, Tenant } from "../support/world.ts";
import { addPersonWithRights, type Rights } from "./rights.ts";

const DENIED = { detail: "Board access denied" };
const MISSED = { detail: "Not Found" };

const world = await setupWorld();
const home = await world.tenant("home");
const abroad = await world.tenant("abroad");
const join = (rights: Rights) => addPersonWithRights(world, home, rights);

const get = (person: Person, board_id = home.board_id) =>
  world.call("GET", `/api/v1/boards/${board_id}`, { token: person.token });
const patch = (person: Person, board_id = home.board_id) =>
  world.call("PATCH", `/api/v1/boards/${board_id}`, { token: person.token, body: {} });
const list = (person: Person, query = "") => world.call("GET", `/api/v1/boards${query}`, { token: person.token });
const names = async (person: Person, query = "") =>
  (await list(person, query)).body.items.map((board: { name: string }) => board.name);
const create = async (person: Person, name: string, gateway_id = home.gateway_id, more: object = {}) =>
  world.call("POST", "/api/v1/boards", { token: person.token, body: { name, description: "A board", gateway_id, ...more } });

test.each<[Rights, number, number]>([
  [{}, 404, 404],
  [{ role: "owner" }, 404, 404],
  [{ role: "admin" }, 404, 404],
  [{ board: { can_read: false, can_write: false } }, 404, 404],
  [{ read: true }, 200, 403],
  [{ write: true }, 200, 200],
  [{ board: { can_read: true, can_write: false } }, 200, 403],
  [{ board: { can_read: false, can_write: true } }, 200, 200],
  [{ read: true, board: { can_read: false, can_write: false } }, 200, 403],
  [{ read: true, board: { can_read: false, can_write: true } }, 200, 200],
])("with the rights %j reading a board gives %i and changing it %i", async (rights, reading, changing) => {
  const person = await join(rights);
  const [read, change] = [await get(person), await patch(person)];
  expect([read.status, change.status]).toEqual([reading, changing]);
  const bodies: Record<number, object> = { 200: { id: home.board_id }, 403: DENIED, 404: MISSED };
  expect([read.body, change.body]).toMatchObject([bodies[reading], bodies[changing]]);
  expect((await list(person)).body.total).toBe(reading === 200 ? 1 : 0);
});

test("an admin who may only read the boards may also write a board that the admin creates", async () => {
  const admin = await join({ role: "admin", read: true });
  const { id } = (await create(admin, "Admin's own")).body;
  expect([(await patch(admin, id)).status, (await patch(admin)).status]).toEqual([200, 403]);
  const own = (await world.call("GET", "/organizations/me/member", { token: admin.token })).body;
  expect(own.board_access).toMatchObject([{ board_id: id, can_read: true, can_write: true }]);
  const owner = (await world.call("GET", "/organizations/me/member", { token: home.owner.token })).body;
  expect(owner.board_access).toEqual([]);
});

test("members of a board's organization may access the board while another organization is active, but the list has only boards of the active organization", async () => {
  const person = await world.person("traveller");
  await world.join(person, home.organization_id, "member", { read: true });
  await world.join(person, abroad.organization_id, "member", { read: true });
  expect([(await get(person)).status, (await get(person, abroad.board_id)).status]).toEqual([200, 200]);
  expect(await names(person)).toEqual(["abroad board"]);
  const user = (await world.db.select().from(users).where(eq(users.auth_subject, "traveller")))[0]!;
  await world.db.delete(organization_members).where(eq(organization_members.user_id, user.id));
  expect([(await get(person)).status, (await get(person, abroad.board_id)).status]).toEqual([404, 404]);
});

describe("the list of boards", () => {
  let tenant: Tenant;

  beforeAll(async () => {
    tenant = await world.tenant("list");
    for (const name of ["beta", "Alpha", "gamma", "Beta"]) await create(tenant.owner, name, tenant.gateway_id);
  });

  test("boards are sorted by name ignoring case, newest first among equals, 20 per page", async () => {
    const page = (await list(tenant.owner)).body;
    expect(page).toMatchObject({ total: 5, limit: 20, offset: 0 });
    expect(page.items.map((board: { name: string }) => board.name)).toEqual(["Alpha", "Beta", "beta", "gamma", "list board"]);
  });

  test.each([
    ["?limit=2", ["Alpha", "Beta"], 2, 0],
    ["?limit=2&page=2", ["beta", "gamma"], 2, 2],
    ["?limit=2&page=3", ["list board"], 2, 4],
    ["?limit=2&page=9", [], 2, 16],
    ["?limit=2&page=2&offset=1", ["Beta", "beta"], 2, 1],
    ["?page=2&offset=0&limit=1", ["Alpha"], 1, 0],
    ["?offset=4", ["list board"], 20, 4],
    ["?limit=200&page=2147483647", [], 200, 2_147_483_647],
  ])("the query %s returns its page, the limit and offset applied, and the true total", async (query, items, limit, offset) => {
    const page = (await list(tenant.owner, query)).body;
    expect([await names(tenant.owner, query), page.total, page.limit, page.offset]).toEqual([items, 5, limit, offset]);
  });

  test("boards can be filtered by gateway and group, and an unknown id gives an empty page", async () => {
    const { owner, organization_id } = tenant;
    const gateway = { name: "Second", url: "ws://127.0.0.1:9", workspace_root: "/srv" };
    const second = (await world.call("POST", "/api/v1/gateways", { token: owner.token, body: gateway })).body.id;
    const [group] = await world.db.insert(board_groups).values({ organization_id, name: "Group", slug: "group" }).returning();
    await create(owner, "On second", second);
    await create(owner, "In group", second, { board_group_id: group!.id });
    expect(await names(owner, `?gateway_id=${second}`)).toEqual(["In group", "On second"]);
    expect(await names(owner, `?board_group_id=${group!.id}`)).toEqual(["In group"]);
    expect(await names(owner, `?board_group_id=${group!.id}&gateway_id=${tenant.gateway_id}`)).toEqual([]);
    for (const foreign of [home.gateway_id, crypto.randomUUID()])
      expect((await list(owner, `?gateway_id=${foreign}`)).body).toEqual({ items: [], total: 0, limit: 20, offset: 0 });
  });
});

test("a right that is removed before the body of a request has arrived no longer counts", async () => {
  const person = await join({ write: true });
  const add = (body: string | ReadableStream) =>
    world.app.request(`/api/v1/boards/${home.board_id}/tasks`, {
      method: "POST",
      headers: { authorization: `Bearer ${person.token}` },
      body,
      duplex: "half",
    } as RequestInit);
  expect((await add(JSON.stringify({ title: "Sweep" }))).status).toBe(200);
  const [user] = await world.db.select().from(users).where(eq(users.auth_subject, person.subject));
  const late = new ReadableStream(
    {
      // The service calls this when it reads the body, after it has authenticated the request.
      async pull(body) {
        await world.db
          .update(organization_members)
          .set({ all_boards_write: false })
          .where(eq(organization_members.user_id, user!.id));
        await new Promise((resolve) => setTimeout(resolve, 200));
        body.enqueue(new TextEncoder().encode(JSON.stringify({ title: "Mop" })));
        body.close();
      },
    },
    { highWaterMark: 0 },
  );
  expect((await add(late)).status).toBe(404);
});
