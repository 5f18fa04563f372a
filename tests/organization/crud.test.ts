import { skill_packs, users } from "@board/core/schema/all-tables";
import { eq } from "drizzle-orm";
import { describe, expect, test } from "vitest";
import { setupWorld } from "../support/fixtures.ts";
import type { Person } from "../support/world.ts";

let people = 0;

const world = await setupWorld();
const home = await world.tenant("home");

const newcomer = () => world.person(`newcomer-${++people}`);
const activeOf = async (person: Person) =>
  (await world.db.select().from(users).where(eq(users.auth_subject, person.subject)))[0]?.active_organization_id;

describe.each(["/organizations", "/api/v1/organizations"])("organizations under %s", (prefix) => {
  const call = (person: Person, method: string, path: string, body?: unknown) =>
    world.call(method, prefix + path, { token: person.token, body });
  const create = (person: Person, name: unknown) => call(person, "POST", "", { name });

  test("the creator of an organization is its owner with both flags, and the organization becomes active", async () => {
    const person = await newcomer();
    const created = await create(person, "  Acme  ");
    expect([created.status, created.body]).toEqual([
      200,
      { id: expect.any(String), name: "Acme", created_at: expect.any(String), updated_at: created.body.created_at },
    ]);
    expect((await call(person, "GET", "/me")).body).toEqual(created.body);
    expect((await call(person, "GET", "/me/member")).body).toMatchObject({
      organization_id: created.body.id,
      role: "owner",
      all_boards_read: true,
      all_boards_write: true,
      board_access: [],
    });
    expect((await call(person, "GET", "/me/list")).body).toEqual([
      { id: created.body.id, name: "Acme", role: "owner", is_active: true },
    ]);
  });

  test("a personal organization starts with two skill packs, and an organization that a person creates with none", async () => {
    const person = await newcomer();
    const personal = (await call(person, "GET", "/me")).body;
    const created = (await create(person, "Empty")).body;
    const packs = async (id: string) =>
      (await world.db.select().from(skill_packs).where(eq(skill_packs.organization_id, id))).length;
    expect([personal.name, await packs(personal.id), await packs(created.id)]).toEqual(["Personal", 2, 0]);
  });

  test("an organization name must be unique among the organizations of its creator, ignoring case", async () => {
    const person = await newcomer();
    expect((await create(person, "Taken")).status).toBe(200);
    for (const name of ["Taken", " tAKEN "]) {
      const again = await create(person, name);
      expect([again.status, again.body]).toEqual([409, { detail: "You already belong to an organization with this name" }]);
    }
    expect((await create(await newcomer(), "Taken")).status).toBe(200);
  });

  test("an organization name is required and has 1 to 200 characters", async () => {
    const person = await newcomer();
    for (const [name, type] of [
      [undefined, "missing"],
      [null, "string_type"],
      [5, "string_type"],
      ["  ", "string_too_short"],
      ["x".repeat(201), "string_too_long"],
    ] as const) {
      const refused = await create(person, name);
      expect([refused.status, refused.body.detail]).toMatchObject([422, [{ type, loc: ["body", "name"] }]]);
    }
  });

  test("owners and admins rename the active organization, and members do not", async () => {
    const person = await newcomer();
    const created = (await create(person, "Acme")).body;
    const renamed = await call(person, "PATCH", "/me", { name: "  Umbrella  " });
    expect([renamed.status, renamed.body]).toEqual([
      200,
      { ...created, name: "Umbrella", updated_at: expect.not.stringMatching(created.updated_at) },
    ]);
    expect((await call(person, "GET", "/me")).body).toEqual(renamed.body);
    for (const body of [{}, { name: "Umbrella" }]) expect((await call(person, "PATCH", "/me", body)).body).toEqual(renamed.body);
    const [admin, member] = [await newcomer(), await newcomer()];
    await world.join(admin, created.id, "admin");
    await world.join(member, created.id, "member");
    expect((await call(admin, "PATCH", "/me", { name: "Initech" })).body).toMatchObject({ id: created.id, name: "Initech" });
    expect((await call(member, "PATCH", "/me", { name: "Mine" })).status).toBe(403);
    expect((await call(person, "GET", "/me")).body.name).toBe("Initech");
  });

  test("an organization cannot get the name of the person's other organization, but the case of its name may change", async () => {
    const person = await newcomer();
    await create(person, "First");
    await create(person, "Second");
    const refused = await call(person, "PATCH", "/me", { name: "fIRST" });
    expect([refused.status, refused.body]).toEqual([409, { detail: "You already belong to an organization with this name" }]);
    expect((await call(person, "PATCH", "/me", { name: "SECOND" })).body.name).toBe("SECOND");
    for (const name of [null, " ", 5, "x".repeat(201)]) expect((await call(person, "PATCH", "/me", { name })).status).toBe(422);
  });

  test("organizations are sorted by name ignoring case, and the active one is marked", async () => {
    const person = await newcomer();
    for (const name of ["beta", "Alpha", "Gamma"]) await create(person, name);
    const listed = (await call(person, "GET", "/me/list")).body;
    expect(listed.map((item: { name: string; is_active: boolean }) => [item.name, item.is_active])).toEqual([
      ["Alpha", false],
      ["beta", false],
      ["Gamma", true],
    ]);
  });

  test("listing organizations creates the Personal organization of a new person", async () => {
    const listed = (await call(await newcomer(), "GET", "/me/list")).body;
    expect(listed).toEqual([{ id: expect.any(String), name: "Personal", role: "owner", is_active: true }]);
  });

  test("a person can choose any organization that they belong to as the active one, and no other", async () => {
    const person = await newcomer();
    const first = (await create(person, "First")).body;
    await create(person, "Second");
    const chosen = await call(person, "PATCH", "/me/active", { organization_id: first.id.toUpperCase() });
    expect([chosen.status, chosen.body]).toEqual([200, first]);
    expect((await call(person, "GET", "/me")).body.id).toBe(first.id);
    for (const organization_id of [home.organization_id, crypto.randomUUID()]) {
      const refused = await call(person, "PATCH", "/me/active", { organization_id });
      expect([refused.status, refused.body]).toEqual([404, { detail: "Not Found" }]);
    }
    expect(await activeOf(person)).toBe(first.id);
    for (const body of [{}, { organization_id: null }, { organization_id: "x" }])
      expect((await call(person, "PATCH", "/me/active", body)).status).toBe(422);
  });

  test("choosing the active organization changes no other field of the user", async () => {
    const person = await newcomer();
    const first = (await create(person, "One")).body;
    await create(person, "Two");
    const row = async () => (await world.db.select().from(users).where(eq(users.auth_subject, person.subject)))[0]!;
    const before = await row();
    await call(person, "PATCH", "/me/active", { organization_id: first.id });
    expect(await row()).toEqual({ ...before, active_organization_id: first.id });
  });
});

test("two concurrent requests that create organizations of one name create one", async () => {
  const person = await newcomer();
  const create = () => world.call("POST", "/organizations", { token: person.token, body: { name: "Once" } });
  const statuses = (await Promise.all([create(), create()])).map((answer) => answer.status);
  expect(statuses.toSorted((a, b) => a - b)).toEqual([200, 409]);
});
