import { organization_board_access, organization_members, organizations, users } from "@board/core/schema/all-tables";
import { and, eq } from "drizzle-orm";
import { describe, expect, test } from "vitest";
import { renew, setupWorld } from "../support/fixtures.ts";
import type { Person } from "../support/world.ts";

const world = await setupWorld();
const home = await world.tenant("home");

/** Each test has a new person. */
const person = renew((n) => world.person(`person-${n}`));

const get = (path: string, token = person.token) => world.call("GET", path, { token });
const userOf = async ({ subject }: Person) => (await world.db.select().from(users).where(eq(users.auth_subject, subject)))[0]!;
const addOrganization = async (name: string) => (await world.db.insert(organizations).values({ name }).returning())[0]!.id;
const leave = async (organization_id: string) => {
  const { id } = await userOf(person);
  const own = and(eq(organization_members.user_id, id), eq(organization_members.organization_id, organization_id));
  await world.db.delete(organization_members).where(own);
};

describe.each(["/organizations", "/api/v1/organizations"])("the active organization under %s", (prefix) => {
  test("the active organization is returned", async () => {
    const answer = await get(`${prefix}/me`, home.owner.token);
    const instant = expect.stringMatching(/^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z$/);
    expect(answer.body).toEqual({ id: home.organization_id, name: "Personal", created_at: instant, updated_at: instant });
  });

  test("the membership of the current user is returned with the user and the stored board rights", async () => {
    const organization_member_id = await world.join(person, home.organization_id, "admin", { write: true });
    const stored = { can_read: false, can_write: true };
    await world.db.insert(organization_board_access).values({ organization_member_id, board_id: home.board_id, ...stored });
    const user = await userOf(person);
    const { body } = await get(`${prefix}/me/member`);
    expect(body).toEqual({
      id: organization_member_id,
      organization_id: home.organization_id,
      user_id: user.id,
      role: "admin",
      all_boards_read: false,
      all_boards_write: true,
      created_at: expect.any(String),
      updated_at: body.created_at,
      user: { id: user.id, email: `${person.subject}@example.com`, name: person.subject, preferred_name: null },
      board_access: [
        {
          id: expect.any(String),
          board_id: home.board_id,
          ...stored,
          created_at: expect.any(String),
          updated_at: expect.any(String),
        },
      ],
    });
  });

  test("the organizations of the current user are sorted by name ignoring case, with the role and the active flag", async () => {
    await world.join(person, await addOrganization("beta"), "member");
    await world.join(person, await addOrganization("Alpha"), "owner");
    await world.join(person, await addOrganization("Gamma"), "admin");
    const { body } = await get(`${prefix}/me/list`);
    expect(body.map(({ name, role, is_active }: Record<string, unknown>) => [name, role, is_active])).toEqual([
      ["Alpha", "owner", false],
      ["beta", "member", false],
      ["Gamma", "admin", true],
    ]);
  });
});

describe("a person without an organization", () => {
  test("reading the current user creates no organization", async () => {
    await get("/api/v1/users/me");
    expect((await userOf(person)).active_organization_id).toBeNull();
  });

  test.each([
    ["GET", "/organizations/me"],
    ["GET", "/organizations/me/member"],
    ["GET", "/organizations/me/list"],
    ["GET", "/api/v1/auth/bootstrap"],
    ["POST", "/api/v1/auth/bootstrap"],
    ["GET", "/api/v1/boards"],
    ["GET", "/api/v1/gateways"],
  ])("%s %s creates one Personal organization for a person without any", async (method, path) => {
    for (let times = 0; times < 2; times++) {
      expect((await world.call(method, path, { token: person.token })).status).toBe(200);
      const list = (await get("/organizations/me/list")).body;
      expect(list).toMatchObject([{ name: "Personal", role: "owner", is_active: true }]);
    }
  });

  test("bootstrap returns the current user, by GET and by POST", async () => {
    const user = {
      id: expect.any(String),
      clerk_user_id: person.subject,
      email: `${person.subject}@example.com`,
      name: person.subject,
      preferred_name: null,
      pronouns: null,
      timezone: null,
      notes: null,
      context: null,
      is_super_admin: false,
    };
    for (const method of ["GET", "POST"])
      expect((await world.call(method, "/api/v1/auth/bootstrap", { token: person.token })).body).toEqual(user);
  });
});

describe("a person who is no longer a member of the active organization", () => {
  test("the oldest other membership becomes the active organization", async () => {
    const oldest = await addOrganization("Oldest");
    const middle = await addOrganization("Middle");
    const active = await addOrganization("Active");
    for (const id of [oldest, middle, active]) await world.join(person, id, "member");
    await leave(active);
    expect((await get("/organizations/me")).body.id).toBe(oldest);
    expect((await userOf(person)).active_organization_id).toBe(oldest);
    const list = (await get("/organizations/me/list")).body;
    expect(list.map(({ name, is_active }: Record<string, unknown>) => [name, is_active])).toEqual([
      ["Middle", false],
      ["Oldest", true],
    ]);
  });

  test("a Personal organization is created when there is no other membership", async () => {
    const only = await addOrganization("Only");
    await world.join(person, only, "member");
    expect((await get("/organizations/me")).body.id).toBe(only);
    await leave(only);
    const { body } = await get("/organizations/me");
    expect([body.name, body.id === only]).toEqual(["Personal", false]);
    expect((await get("/organizations/me/member")).body.role).toBe("owner");
  });

  test("a Personal organization is created when the active organization was deleted", async () => {
    const gone = await addOrganization("Gone");
    await world.join(person, gone, "owner");
    await world.db.delete(organizations).where(eq(organizations.id, gone));
    expect((await get("/organizations/me")).body.name).toBe("Personal");
  });
});
